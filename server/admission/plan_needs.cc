#include "server/admission/plan_needs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace memplan {
namespace {

// A model's tables; more add nothing but memory.
constexpr size_t kMostTables = 32;
// Of a worker on a GPU whose driver did not tell: torch's on an H200.
constexpr Bytes kUsualContext = MiB(768);

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

// Out of `GPU-x, NVIDIA H200, 150754820096 bytes, driver 570.1`, the words by
// which a probe knows its device again; a name may have commas, and nothing stands
// for a total that is not known.
ModelNeeds::DeviceType ModelNeeds::TypeIn(absl::string_view identity) {
  const size_t begin = identity.find(", ");
  const size_t end = identity.rfind(", driver ");
  if (begin == absl::string_view::npos || end == absl::string_view::npos ||
      end <= begin) {
    return {std::string(identity), std::nullopt};
  }
  absl::string_view type = identity.substr(begin + 2, end - begin - 2);
  const size_t comma = type.rfind(", ");
  if (comma == type.npos) return {std::string(type), std::nullopt};
  DeviceType found = {std::string(type.substr(0, comma)), std::nullopt};
  absl::string_view amount = type.substr(comma + 2);
  int64_t total = 0;
  if (absl::ConsumeSuffix(&amount, " bytes") &&
      absl::SimpleAtoi(amount, &total)) {
    found.total = Bytes(total);
  }
  return found;
}

bool ModelNeeds::IsOf(const DeviceType& type, const Device& device) {
  if (device.is_cpu) return type.name == device.id;
  return type.total == device.total && type.name == device.display_name;
}

void PlanNeeds::Add(const Probe& probe) {
  NeedTable table = TableOf(probe);
  if (table.empty()) return;
  auto entry = std::make_shared<const ModelNeeds::Entry>(ModelNeeds::Entry{
      probe.spec, ModelNeeds::TypeIn(probe.device_identity), std::move(table)});
  const std::lock_guard lock(mutex_);
  auto& known = models_[probe.spec.model_sha256].entries_;
  auto entries = known == nullptr
                     ? std::make_shared<ModelNeeds::Entries>()
                     : std::make_shared<ModelNeeds::Entries>(*known);
  entries->push_front(std::move(entry));
  if (entries->size() > kMostTables) entries->pop_back();
  known = std::move(entries);
}

ModelNeeds PlanNeeds::Of(const std::string& model_sha256) const {
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(model_sha256);
  return found == models_.end() ? ModelNeeds() : found->second;
}

FoundNeed ModelNeeds::On(const ModelNeed& need, const Device& device) const {
  if (entries_ == nullptr) return VerdictReason::kNoPlan;
  const Entry* newest = nullptr;
  std::optional<Need> answer;
  for (const auto& kept : *entries_) {
    const Entry& entry = *kept;
    const bool matches =
        (entry.spec.device_id == device.id || IsOf(entry.type, device)) &&
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
  for (const auto& [model, needs] : models_) tables += needs.entries_->size();
  return tables;
}

}  // namespace memplan
