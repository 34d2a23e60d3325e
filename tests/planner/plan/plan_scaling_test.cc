#include "planner/plan/plan_scaling.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "planner/trace/call_plan.h"

namespace memplan {
namespace {

// An output and scratch, which is taken and given back.
CallPlan OutputAndScratch(int64_t output, int64_t scratch) {
  return {{0, output}, {1, scratch}, {1, 0}};
}

CallPlan Scale(const CallPlan& nearest, int64_t nearest_batch,
               const CallPlan& other, int64_t other_batch, int64_t batch) {
  const std::vector<PlanPoint> others = {{other_batch, &other}};
  return ScalePlan({nearest_batch, &nearest}, others, batch);
}

TEST(PlanScalingTest, StructureIsTheOrderOfRequestsAndFrees) {
  EXPECT_TRUE(
      HaveOneStructure(OutputAndScratch(8, 9), OutputAndScratch(80, 1)));
  EXPECT_FALSE(HaveOneStructure(OutputAndScratch(8, 9), {{0, 8}}));
  EXPECT_FALSE(
      HaveOneStructure({{0, 8}, {1, 9}, {1, 0}}, {{0, 8}, {1, 9}, {0, 0}}));
}

TEST(PlanScalingTest, PutsOutputsOnTheLineThroughTwoBatches) {
  // 10 a sample and 3; the other batch takes no scratch at all.
  const CallPlan scaled =
      Scale(OutputAndScratch(1003, 500), 100, {{0, 323}}, 32, 90);
  EXPECT_EQ(scaled, OutputAndScratch(903, 450));  // scratch in proportion
}

TEST(PlanScalingTest, KeepsScratchThatTwoNeighboursShare) {
  EXPECT_EQ(Scale(OutputAndScratch(1000, 500), 100, OutputAndScratch(1010, 500),
                  101, 90),
            OutputAndScratch(900, 500));
}

TEST(PlanScalingTest, ScalesScratchWithTheBatchWhereNeighboursDo) {
  EXPECT_EQ(Scale(OutputAndScratch(1000, 500), 100, OutputAndScratch(1010, 505),
                  101, 90),
            OutputAndScratch(900, 450));
}

TEST(PlanScalingTest, TrustsALineOfScratchOnlyBetweenDistantBatches) {
  // 4 a sample and 100, from 50 and 100.
  EXPECT_EQ(Scale(OutputAndScratch(1000, 500), 100, OutputAndScratch(500, 300),
                  50, 90),
            OutputAndScratch(900, 460));
  // A tile more at the next batch says nothing of the slope.
  EXPECT_EQ(Scale(OutputAndScratch(1000, 500), 100, OutputAndScratch(1010, 600),
                  101, 90),
            OutputAndScratch(900, 450));
}

TEST(PlanScalingTest, GivesTheNearestPlanAtItsOwnBatch) {
  const CallPlan plan = OutputAndScratch(1000, 7);
  EXPECT_EQ(Scale(plan, 100, OutputAndScratch(1, 1), 32, 100), plan);
}

}  // namespace
}  // namespace memplan
