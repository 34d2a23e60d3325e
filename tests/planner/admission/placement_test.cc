#include "planner/admission/placement.h"

#include <gtest/gtest.h>

#include <vector>

namespace memplan {
namespace {

Judgement That(Verdict verdict, Bytes available) {
  return {.verdict = verdict,
          .reason = VerdictReason::kRoom,
          .available = available,
          .retry_after = {}};
}

TEST(PlacementTest, BestFitLeavesLeastAndSpreadMost) {
  const std::vector<Judgement> judgements = {
      That(Verdict::kFits, GiB(40)), That(Verdict::kFits, GiB(10)),
      That(Verdict::kNotNow, GiB(1)), That(Verdict::kFits, GiB(60))};
  EXPECT_EQ(Choose(judgements, Placement::kBestFit), 1);
  EXPECT_EQ(Choose(judgements, Placement::kSpread), 3);
}

TEST(PlacementTest, PrefersTheAnswerThatLeavesMostHope) {
  const std::vector<Judgement> judgements = {
      That(Verdict::kNever, GiB(90)), That(Verdict::kUnknown, GiB(0)),
      That(Verdict::kNotNow, GiB(2)), That(Verdict::kNotNow, GiB(3))};
  EXPECT_EQ(Choose(judgements, Placement::kBestFit), 3);
  EXPECT_EQ(Choose({}, Placement::kSpread), std::nullopt);
}

}  // namespace
}  // namespace memplan
