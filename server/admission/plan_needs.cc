#include "server/admission/plan_needs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace memplan {
namespace {

// A model's tables; more add nothing but memory.
constexpr size_t kMostTables = 32;
// Of a worker on a GPU whose driver did not tell: torch's on an H200.
constexpr Bytes kUsualContext = MiB(768);

// Name and total, out of `GPU-x, NVIDIA H200, 150754820096 bytes, driver 570.1`,
// the words by which a probe knows its device again.
std::string TypeIn(const std::string& identity) {
  const size_t begin = identity.find(", ");
  const size_t end = identity.rfind(", driver ");
  if (begin == std::string::npos || end == std::string::npos || end <= begin) {
    return identity;
  }
  return identity.substr(begin, end - begin);
}

std::string TypeOf(const Device& device) {
  if (device.is_cpu) return device.id;
  return absl::StrCat(
      ", ", device.display_name, ", ",
      device.total ? absl::StrCat(device.total->count(), " bytes") : "");
}

Bytes LargestContext(const Probe& probe) {
  if (probe.spec.device_id == "cpu") return Bytes(0);
  Bytes largest;
  for (const Trial& trial : probe.trials) {
    largest = std::max(largest, trial.context.value_or(Bytes(0)));
  }
  return largest > Bytes(0) ? largest : kUsualContext;
}

bool IsSameTask(const ProbeSpec& a, const ProbeSpec& b) {
  return a.inputs == b.inputs && a.dimensions == b.dimensions &&
         a.mode == b.mode && a.optimizer == b.optimizer &&
         a.run_as == b.run_as && a.step == b.step &&
         a.loss_model_sha256 == b.loss_model_sha256;
}

}  // namespace

NeedTable TableOf(const Probe& probe) {
  const Bytes context = LargestContext(probe);
  std::vector<NeedPoint> points;
  for (const Trial& trial : probe.trials) {
    if (trial.outcome != TrialOutcome::kFits) continue;
    const Peaks peaks = TrialPeaks(trial);
    const Bytes held = peaks.reserved.value_or(peaks.allocated);
    points.push_back({.batch = trial.batch,
                      .least = held + trial.context.value_or(context),
                      .most = held + context,
                      .verified = trial.purpose == TrialPurpose::kVerify});
  }
  return {probe.id, std::move(points)};
}

void PlanNeeds::Add(const Probe& probe) {
  NeedTable table = TableOf(probe);
  if (table.empty()) return;
  const std::lock_guard lock(mutex_);
  std::deque<Entry>& entries = entries_[probe.spec.model_sha256];
  entries.push_front(
      {probe.spec, TypeIn(probe.device_identity), std::move(table)});
  if (entries.size() > kMostTables) entries.pop_back();
}

FoundNeed PlanNeeds::Find(const ModelNeed& need, const Device& device) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(need.model_sha256);
  if (found == entries_.end()) return VerdictReason::kNoPlan;
  std::optional<std::string> type;  // made if an id does not tell already
  const auto runs_alike = [&](const Entry& entry) {
    if (entry.spec.device_id == device.id) return true;
    if (!type) type = TypeOf(device);
    return entry.device_type == *type;
  };
  const Entry* newest = nullptr;
  std::optional<Need> answer;
  for (const Entry& entry : found->second) {
    const bool matches =
        runs_alike(entry) &&
        (need.probe_id.empty() || entry.table.plan_id() == need.probe_id) &&
        (!need.mode || entry.spec.mode == *need.mode) &&
        (!need.optimizer || entry.spec.optimizer == *need.optimizer);
    if (!matches) continue;
    if (newest != nullptr && !IsSameTask(newest->spec, entry.spec)) {
      return VerdictReason::kPlanAmbiguous;
    }
    if (newest == nullptr) newest = &entry;
    if (!answer) answer = entry.table.At(need.batch);
  }
  if (newest == nullptr) return VerdictReason::kNoPlan;
  if (!answer) return VerdictReason::kBatchNotMeasured;
  return *std::move(answer);
}

size_t PlanNeeds::size() const {
  const std::lock_guard lock(mutex_);
  size_t tables = 0;
  for (const auto& [model, entries] : entries_) tables += entries.size();
  return tables;
}

}  // namespace memplan
