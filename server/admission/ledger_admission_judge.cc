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

constexpr size_t kMostHolders = 5;

// A judgement that no device was looked at for.
Answer WithoutDevice(UnknownPolicy policy) {
  return {.judgement = Unknown(VerdictReason::kNoDevice, policy)};
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

absl::StatusOr<std::vector<const Device*>> LedgerAdmission::Candidates(
    const std::string& device) const {
  std::vector<const Device*> candidates;
  if (snapshot_ == nullptr) return candidates;
  if (device.empty()) {
    for (const Device& each : snapshot_->devices) {
      if (!each.is_cpu && !each.is_partitioned) candidates.push_back(&each);
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
  candidates.push_back(*found);
  return candidates;
}

Bytes LedgerAdmission::HeadroomOf(const JobSpec& job) const {
  Bytes headroom =
      std::max(job.headroom.value_or(rules_.headroom), rules_.min_headroom);
  if (rules_.follow_suggestion) {
    headroom = std::max(headroom, policy_.Suggestion());
  }
  return headroom;
}

std::optional<absl::Duration> LedgerAdmission::AgeOf(
    const Device& device) const {
  const auto reading = readings_.find(device.id);
  if (reading == readings_.end() || reading->second.snapshot_id == 0) {
    return std::nullopt;
  }
  return std::max(parts_.now() - reading->second.seen, absl::ZeroDuration());
}

// Reservations and processes without one, the largest first.
std::vector<MemoryHolder> LedgerAdmission::HoldersOf(
    const Device& device) const {
  std::vector<MemoryHolder> holders;
  for (const Reservation* each : ledger_.LargestOn(device.id, kMostHolders)) {
    holders.push_back(
        {.bytes = std::max(each->promised, each->measured.value_or(Bytes(0))),
         .reservation_id = each->id,
         .pid = each->processes.empty() ? 0 : each->processes.front().pid,
         .name = each->holder});
  }
  const auto owners = owners_.find(device.id);
  size_t strangers = 0;
  for (const DeviceProcess& process : device.processes) {
    if (strangers == kMostHolders) break;
    if (owners != owners_.end() && owners->second.contains(process.pid)) {
      continue;
    }
    ++strangers;
    holders.push_back({.bytes = process.used.value_or(Bytes(0)),
                       .reservation_id = {},
                       .pid = process.pid,
                       .name = process.name});
  }
  std::stable_sort(holders.begin(), holders.end(),
                   [](const MemoryHolder& a, const MemoryHolder& b) {
                     return a.bytes > b.bytes;
                   });
  if (holders.size() > kMostHolders) holders.resize(kMostHolders);
  return holders;
}

// Without what only the chosen answer needs: snapshot, holders, suggestion.
Answer LedgerAdmission::JudgeOn(const JobSpec& job, const Device& device,
                                const Ticket* ticket) const {
  Answer answer = {.judgement = {}};
  answer.device = &device;
  answer.sums = ledger_.SumsOn(device.id);
  answer.age = AgeOf(device);
  answer.headroom = HeadroomOf(job);
  if (const Bytes* stated = std::get_if<Bytes>(&job.need)) {
    answer.need = StatedNeed(*stated);
  } else {
    FoundNeed found = needs_.Find(std::get<ModelNeed>(job.need), device);
    if (const auto* reason = std::get_if<VerdictReason>(&found)) {
      answer.judgement = Unknown(*reason, job.unknown);
      return answer;
    }
    answer.need = std::get<Need>(std::move(found));
  }
  const absl::Duration now = parts_.now();
  CheckRules rules = {
      .headroom = answer.headroom,
      .max_age = job.max_age.value_or(absl::FromChrono(rules_.max_age)),
      .unknown = job.unknown};
  rules.held_for_waiter = ticket == nullptr
                              ? line_.IsHeld(device.id, now)
                              : line_.IsHeld(device.id, now, *ticket);
  if (const auto expiry = ledger_.NextExpiry(device.id)) {
    rules.next_expiry = *expiry - now;
  }
  answer.judgement =
      Judge(*answer.need,
            {.device = &device, .sums = answer.sums, .age = answer.age}, rules);
  return answer;
}

absl::StatusOr<Answer> LedgerAdmission::JudgeJob(const JobSpec& job,
                                                 const Ticket* ticket) {
  MEMPLAN_ASSIGN_OR_RETURN(const std::vector<const Device*> candidates,
                           Candidates(job.device));
  std::vector<Answer> answers;
  std::vector<Judgement> judgements;
  answers.reserve(candidates.size());
  judgements.reserve(candidates.size());
  for (const Device* device : candidates) {
    answers.push_back(JudgeOn(job, *device, ticket));
    judgements.push_back(answers.back().judgement);
  }
  const auto chosen = Choose(judgements, job.placement);
  Answer answer =
      chosen ? std::move(answers[*chosen]) : WithoutDevice(job.unknown);
  answer.suggested_headroom = policy_.Suggestion();
  if (answer.device != nullptr) {
    answer.snapshot = snapshot_;
    answer.holders = HoldersOf(*answer.device);
  }
  return answer;
}

}  // namespace memplan
