#include "planner/trace/size_rules.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "planner/trace/event.h"
#include "planner/trace/request_stream.h"
#include "planner/trace/size_law.h"

namespace memplan {
namespace {

constexpr int64_t kTooLarge = std::numeric_limits<int64_t>::max();

// 0 to kTooLarge.
int64_t Clamped(absl::int128 bytes) {
  if (bytes < 0) return 0;
  return bytes > kMaxEventBytes ? kTooLarge : static_cast<int64_t>(bytes);
}

// At `value` on the line through two seen sizes, rounded up.
int64_t OnLine(int64_t value, int64_t value_1, int64_t bytes_1, int64_t value_2,
               int64_t bytes_2) {
  const int64_t run = value_2 - value_1;
  absl::int128 rise =
      (absl::int128(bytes_2) - bytes_1) * (absl::int128(value) - value_1);
  if (rise > 0) rise += run - 1;
  return Clamped(bytes_1 + rise / run);
}

SizeOrigin OriginOf(LawKind kind) {
  switch (kind) {
    case LawKind::kConstant:
      return SizeOrigin::kConstant;
    case LawKind::kAffine:
      return SizeOrigin::kAffine;
    case LawKind::kQuadratic:
      return SizeOrigin::kQuadratic;
  }
  return SizeOrigin::kConstant;
}

}  // namespace

absl::StatusOr<SizeRules> SizeRules::Create(
    std::vector<std::vector<int64_t>> points, size_t largest) {
  MEMPLAN_ASSIGN_OR_RETURN(const SizeLawFitter fitter,
                           SizeLawFitter::Create(points));
  SizeRules rules;
  for (size_t d = 0; d < points[0].size(); ++d) {
    if (!fitter.Varies(d)) continue;
    const bool is_first = !rules.only_varying_.has_value();
    rules.only_varying_ = d;
    if (!is_first) {
      rules.only_varying_.reset();
      break;
    }
  }
  rules.points_ = std::move(points);
  rules.largest_ = largest;
  return rules;
}

uint32_t SizeRules::Add(std::span<const int64_t> sizes, SizeRole role) {
  std::vector<int64_t> key(sizes.begin(), sizes.end());
  key.push_back(static_cast<int64_t>(role));
  const auto [found, is_new] =
      ids_.try_emplace(std::move(key), static_cast<uint32_t>(rules_.size()));
  if (is_new) rules_.push_back(MakeRule(sizes, role));
  return found->second;
}

SizeRules::Rule SizeRules::MakeRule(std::span<const int64_t> sizes,
                                    SizeRole role) const {
  Rule rule;
  rule.role = role;
  rule.recorded_bytes = sizes[largest_];
  std::vector<std::vector<int64_t>> points;
  std::vector<int64_t> seen;
  for (size_t r = 0; r < sizes.size(); ++r) {
    if (sizes[r] == kMissing) continue;
    points.push_back(points_[r]);
    seen.push_back(sizes[r]);
    if (only_varying_.has_value()) {
      rule.seen.push_back({points_[r][*only_varying_], sizes[r]});
    }
  }
  if (const auto fitter = SizeLawFitter::Create(points); fitter.ok()) {
    rule.law = fitter->Fit(seen);
  }
  if (rule.law.has_value() || rule.seen.size() < 2) rule.seen.clear();
  std::sort(rule.seen.begin(), rule.seen.end(),
            [](const Seen& a, const Seen& b) { return a.value < b.value; });
  return rule;
}

SizedRequest SizeRules::Follow(const Rule& rule,
                               std::span<const int64_t> values) const {
  if (rule.law.has_value()) {
    const std::optional<int64_t> bytes = rule.law->At(values);
    return {bytes.has_value() ? Clamped(*bytes) : kTooLarge,
            OriginOf(rule.law->kind())};
  }
  if (rule.seen.empty() || !only_varying_.has_value())
    return {rule.recorded_bytes, SizeOrigin::kHeld};
  // The two neighbours, or the two nearest on one side.
  const int64_t value = values[*only_varying_];
  auto above = std::find_if(rule.seen.begin() + 1, rule.seen.end() - 1,
                            [&](const Seen& s) { return s.value >= value; });
  const Seen& low = *(above - 1);
  return {OnLine(value, low.value, low.bytes, above->value, above->bytes),
          SizeOrigin::kInterpolated};
}

SizedRequest SizeRules::AssumeScratch(const Rule& rule,
                                      std::span<const int64_t> values,
                                      ScratchScenario scenario) const {
  if (rule.law.has_value() && rule.law->kind() == LawKind::kConstant) {
    return {rule.recorded_bytes, SizeOrigin::kConstant};
  }
  const bool is_unpaired = !rule.law.has_value() && rule.seen.empty();
  switch (scenario) {
    case ScratchScenario::kHeld:
      return {rule.recorded_bytes, SizeOrigin::kHeld};
    case ScratchScenario::kVanished:
      return {0, SizeOrigin::kHeld};
    case ScratchScenario::kExtrapolated:
      if (!is_unpaired || !only_varying_.has_value()) break;
      return {OnLine(values[*only_varying_], 0, 0,
                     points_[largest_][*only_varying_], rule.recorded_bytes),
              SizeOrigin::kHeld};
    case ScratchScenario::kBestGuess:
    case ScratchScenario::kAppears:
      if (rule.role != SizeRole::kReductionScratch) break;
      return {
          std::min(Follow(rule, values).bytes,
                   std::max(rule.recorded_bytes, kReductionCeiling.count())),
          SizeOrigin::kClosedForm};
  }
  return {Follow(rule, values).bytes,
          is_unpaired ? SizeOrigin::kHeld : SizeOrigin::kInterpolated};
}

absl::Status SizeRules::Evaluate(std::span<const int64_t> values,
                                 ScratchScenario scenario,
                                 std::vector<SizedRequest>& sized) const {
  sized.resize(rules_.size());
  for (size_t i = 0; i < rules_.size(); ++i) {
    const Rule& rule = rules_[i];
    sized[i] = rule.role == SizeRole::kTensor
                   ? Follow(rule, values)
                   : AssumeScratch(rule, values, scenario);
    if (sized[i].bytes == kTooLarge) {
      return absl::OutOfRangeError(absl::StrCat(
          "a request of ", rule.recorded_bytes,
          " bytes in the largest recording would be above 1 EiB; ask for a "
          "smaller shape"));
    }
  }
  return absl::OkStatus();
}

}  // namespace memplan
