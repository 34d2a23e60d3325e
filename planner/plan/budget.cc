#include "planner/plan/budget.h"

#include <algorithm>
#include <optional>
#include <span>

#include "absl/strings/str_cat.h"
#include "planner/base/bytes.h"
#include "planner/base/format.h"
#include "planner/plan/trial.h"

namespace memplan {

std::optional<Bytes> CapForNextTrial(const MemoryLimit& limit,
                                     std::span<const Trial> trials) {
  if (limit.cap.has_value()) return limit.cap;
  if (!limit.budget.has_value()) return std::nullopt;
  Bytes context;
  for (const Trial& trial : trials) {
    context = std::max(context, trial.context.value_or(Bytes(0)));
  }
  return std::max(*limit.budget - context, Bytes(0));
}

Trial JudgedByBudget(Trial trial, const MemoryLimit& limit) {
  if (trial.outcome != TrialOutcome::kFits || !limit.budget.has_value()) {
    return trial;
  }
  const Peaks peaks = TrialPeaks(trial);
  const Bytes allocator = peaks.reserved.value_or(peaks.allocated);
  const Bytes context = trial.context.value_or(Bytes(0));
  if (allocator + context <= *limit.budget) return trial;
  trial.outcome = TrialOutcome::kOutOfMemory;
  trial.message = absl::StrCat(
      "it ran, but took ", FormatBytes(allocator + context), " of the device (",
      FormatBytes(allocator), " in the allocator and ", FormatBytes(context),
      " outside it), ", FormatBytes(allocator + context - *limit.budget),
      " above the budget of ", FormatBytes(*limit.budget));
  return trial;
}

}  // namespace memplan
