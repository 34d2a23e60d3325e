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

Bytes LedgerAdmission::HeadroomOf(const JobSpec& job, Bytes suggestion) const {
  Bytes headroom =
      std::max(job.headroom.value_or(rules_.headroom), rules_.min_headroom);
  if (rules_.follow_suggestion) {
    headroom = std::max(headroom, suggestion);
  }
  return headroom;
}

std::optional<absl::Duration> LedgerAdmission::AgeOf(const Device& device,
                                                     absl::Duration now) const {
  const auto reading = readings_.find(device.id);
  if (reading == readings_.end() || reading->second.snapshot_id == 0) {
    return std::nullopt;
  }
  return std::max(now - reading->second.seen, absl::ZeroDuration());
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

LedgerAdmission::Candidate LedgerAdmission::JudgeOn(
    const Question& question, const Device& device) const {
  const JobSpec& job = question.job;
  Candidate candidate = {.device = &device,
                         .judgement = {},
                         .sums = ledger_.SumsOn(device.id),
                         .age = AgeOf(device, question.now),
                         .need = {}};
  if (const Bytes* stated = std::get_if<Bytes>(&job.need)) {
    candidate.need = StatedNeed(*stated);
  } else {
    FoundNeed found = question.model.On(std::get<ModelNeed>(job.need), device);
    if (const auto* reason = std::get_if<VerdictReason>(&found)) {
      candidate.judgement = Unknown(*reason, job.unknown);
      return candidate;
    }
    candidate.need = std::get<Need>(std::move(found));
  }
  CheckRules rules = {
      .headroom = question.headroom,
      .max_age = job.max_age.value_or(absl::FromChrono(rules_.max_age)),
      .unknown = job.unknown};
  rules.held_for_waiter =
      question.ticket == nullptr
          ? line_.IsHeld(device.id, question.now)
          : line_.IsHeld(device.id, question.now, *question.ticket);
  if (const auto expiry = ledger_.NextExpiry(device.id)) {
    rules.next_expiry = *expiry - question.now;
  }
  candidate.judgement = Judge(
      *candidate.need,
      {.device = &device, .sums = candidate.sums, .age = candidate.age}, rules);
  return candidate;
}

absl::StatusOr<Answer> LedgerAdmission::JudgeJob(const JobSpec& job,
                                                 const Ticket* ticket) {
  MEMPLAN_ASSIGN_OR_RETURN(const std::vector<const Device*> devices,
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
  std::vector<Candidate> candidates;
  std::vector<Judgement> judgements;
  candidates.reserve(devices.size());
  judgements.reserve(devices.size());
  for (const Device* device : devices) {
    candidates.push_back(JudgeOn(question, *device));
    judgements.push_back(candidates.back().judgement);
  }
  const auto chosen = Choose(judgements, job.placement);
  if (!chosen) return WithoutDevice(job.unknown, suggestion);
  Candidate& best = candidates[*chosen];
  return Answer{.judgement = best.judgement,
                .snapshot = snapshot_,
                .device = best.device,
                .sums = best.sums,
                .age = best.age,
                .headroom = question.headroom,
                .suggested_headroom = suggestion,
                .need = std::move(best.need),
                .holders = HoldersOf(*best.device)};
}

}  // namespace memplan
