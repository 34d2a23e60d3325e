// How a job is judged: which devices come into question, what each has, what the
// job takes there, and the answer with its evidence.
#include <algorithm>
#include <utility>

#include "planner/admission/device_numbering.h"
#include "planner/base/status_macros.h"
#include "server/admission/ledger_admission.h"
#include "server/base/reason.h"

namespace memplan {
namespace {

// Whoever is let in needs to know less of the others; each holder told is a
// thirtieth of what a check costs.
constexpr size_t kHoldersOfAYes = 3;
constexpr size_t kHoldersOfANo = 8;

// A judgement that no device was looked at for.
Answer WithoutDevice(UnknownPolicy policy, Bytes suggestion) {
  return {.judgement = Unknown(VerdictReason::kNoDevice, policy),
          .suggested_headroom = suggestion};
}

}  // namespace

void LedgerAdmission::Count(const Judgement& judgement) {
  verdicts_[static_cast<size_t>(judgement.verdict)]
           [static_cast<size_t>(judgement.reason)]
               .fetch_add(1, std::memory_order_relaxed);
}

absl::StatusOr<Answer> LedgerAdmission::Check(const JobSpec& job) {
  absl::StatusOr<Answer> answer;
  {
    const std::lock_guard lock(mutex_);
    answer = JudgeJob(job, nullptr);
  }
  if (answer.ok()) Count(answer->judgement);
  return answer;
}

absl::StatusOr<std::vector<LedgerAdmission::Standing>>
LedgerAdmission::Candidates(const std::string& device) const {
  std::vector<Standing> candidates;
  if (snapshot_ == nullptr) return candidates;
  if (device.empty()) {
    candidates.reserve(standings_.size());
    for (const Standing& each : standings_) {
      if (!each.device->is_cpu && !each.device->is_partitioned) {
        candidates.push_back(each);
      }
    }
    return candidates;
  }
  const auto found = ResolveDevice(snapshot_->devices, device);
  if (!found.ok()) {
    return WithReason(found.status(),
                      absl::IsNotFound(found.status()) ? "DEVICE_NOT_FOUND"
                                                       : "INVALID_ADMISSION",
                      "device_id");
  }
  for (const Standing& each : standings_) {
    if (each.device == *found) candidates.push_back(each);
  }
  return candidates;
}

std::optional<absl::Duration> LedgerAdmission::Standing::AgeAt(
    absl::Duration now) const {
  if (!seen) return std::nullopt;
  return std::max(now - *seen, absl::ZeroDuration());
}

Bytes LedgerAdmission::HeadroomOf(const JobSpec& job, Bytes suggestion) const {
  Bytes headroom =
      std::max(job.headroom.value_or(rules_.headroom), rules_.min_headroom);
  if (rules_.follow_suggestion) {
    headroom = std::max(headroom, suggestion);
  }
  return headroom;
}

// Reservations and processes without one, the largest first, as both come.
std::vector<MemoryHolder> LedgerAdmission::HoldersOf(const Device& device,
                                                     size_t most) const {
  const auto reserved = ledger_.LargestOn(device.id, most);
  const auto owners = owners_.find(device.id);
  std::vector<MemoryHolder> holders;
  holders.reserve(most);
  auto next = reserved.begin();
  // The next reservations, as long as they hold no less than `least`.
  const auto add_reserved = [&](Bytes least) {
    for (; next != reserved.end() && holders.size() < most; ++next) {
      const Reservation& each = **next;
      const Bytes bytes = ClaimOf(each);
      if (bytes < least) return;
      holders.push_back(
          {.bytes = bytes,
           .reservation_id = each.id,
           .pid = each.processes.empty() ? 0 : each.processes.front().pid,
           .name = each.holder});
    }
  };
  for (const DeviceProcess& process : device.processes) {
    if (holders.size() == most) break;
    if (owners != owners_.end() && owners->second.contains(process.pid)) {
      continue;
    }
    const Bytes used = process.used.value_or(Bytes(0));
    add_reserved(used);
    if (holders.size() == most) break;
    holders.push_back({.bytes = used,
                       .reservation_id = {},
                       .pid = process.pid,
                       .name = process.name});
  }
  add_reserved(Bytes(0));
  return holders;
}

FoundNeed LedgerAdmission::NeedOn(const Question& question,
                                  const Device& device) {
  if (const Bytes* stated = std::get_if<Bytes>(&question.job.need)) {
    return StatedNeed(*stated);
  }
  return question.model.On(std::get<ModelNeed>(question.job.need), device);
}

Judgement LedgerAdmission::JudgeOn(const Question& question,
                                   const Standing& standing) const {
  const JobSpec& job = question.job;
  const std::string& device_id = standing.device->id;
  const FoundNeed need = NeedOn(question, *standing.device);
  if (const auto* reason = std::get_if<VerdictReason>(&need)) {
    return Unknown(*reason, job.unknown);
  }
  const DevicePromises promises = ledger_.PromisesOn(device_id);
  CheckRules rules = {
      .headroom = question.headroom,
      .max_age = job.max_age.value_or(absl::FromChrono(rules_.max_age)),
      .unknown = job.unknown};
  rules.held_for_waiter =
      question.ticket == nullptr
          ? line_.IsHeld(device_id, question.now)
          : line_.IsHeld(device_id, question.now, *question.ticket);
  if (promises.next_expiry) {
    rules.next_expiry = *promises.next_expiry - question.now;
  }
  return Judge(std::get<Need>(need),
               {.device = standing.device,
                .sums = promises.sums,
                .age = standing.AgeAt(question.now)},
               rules);
}

// Every device is judged; the evidence is gathered of the chosen one alone.
absl::StatusOr<Answer> LedgerAdmission::JudgeJob(const JobSpec& job,
                                                 const Ticket* ticket) {
  MEMPLAN_ASSIGN_OR_RETURN(const std::vector<Standing> candidates,
                           Candidates(job.device));
  const Bytes suggestion = policy_.Suggestion();
  Question question = {.job = job,
                       .ticket = ticket,
                       .now = parts_.now(),
                       .headroom = HeadroomOf(job, suggestion),
                       .model = {}};
  if (const auto* model = std::get_if<ModelNeed>(&job.need)) {
    question.model = needs_.Of(model->model_sha256);
  }
  std::vector<Judgement> judgements;
  judgements.reserve(candidates.size());
  for (const Standing& candidate : candidates) {
    judgements.push_back(JudgeOn(question, candidate));
  }
  const auto chosen = Choose(judgements, job.placement);
  if (!chosen) return WithoutDevice(job.unknown, suggestion);
  const Standing& best = candidates[*chosen];
  const bool fits = judgements[*chosen].verdict == Verdict::kFits;
  Answer answer = {.judgement = judgements[*chosen],
                   .snapshot = snapshot_,
                   .device = best.device,
                   .sums = ledger_.SumsOn(best.device->id),
                   .age = best.AgeAt(question.now),
                   .headroom = question.headroom,
                   .suggested_headroom = suggestion,
                   .need = {},
                   .holders = HoldersOf(*best.device,
                                        fits ? kHoldersOfAYes : kHoldersOfANo)};
  FoundNeed need = NeedOn(question, *best.device);
  if (auto* known = std::get_if<Need>(&need)) answer.need = std::move(*known);
  return answer;
}

}  // namespace memplan
