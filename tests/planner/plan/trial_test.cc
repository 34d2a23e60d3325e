#include "planner/plan/trial.h"

#include <optional>

#include "gtest/gtest.h"
#include "planner/base/bytes.h"
#include "planner/base/format.h"
#include "tests/planner/plan/sample_trial.h"

namespace memplan {
namespace {

using ::memplan::testing::PeaksOf;
using ::memplan::testing::StepOf;

TEST(MaxPeaksTest, TakesTheLargerOfEachPair) {
  EXPECT_EQ(MaxPeaks(PeaksOf(1, 20, 3, 40), PeaksOf(10, 2, 30, 4)),
            PeaksOf(10, 20, 30, 40));
}

TEST(MaxPeaksTest, KeepsTheOnlyReservedPeak) {
  EXPECT_EQ(MaxPeaks(PeaksOf(1, 1, 1), PeaksOf(1, 1, 1, 7)),
            PeaksOf(1, 1, 1, 7));
  EXPECT_EQ(MaxPeaks(PeaksOf(1, 1, 1), PeaksOf(2, 2, 2)), PeaksOf(2, 2, 2));
}

TEST(TrialPeaksTest, CoversLoadAndSteps) {
  Trial trial;
  trial.load_peaks = PeaksOf(5, 5, 5, 100);
  trial.steps = {StepOf(PeaksOf(7, 8, 9, 50)), StepOf(PeaksOf(6, 9, 8, 60))};
  EXPECT_EQ(TrialPeaks(trial), PeaksOf(7, 9, 9, 100));
}

TEST(PeakStepTest, IsTheOneThatReservedMost) {
  Trial trial;
  trial.load_peaks = PeaksOf(1, 1, 1, 1);
  trial.steps = {StepOf(PeaksOf(9, 9, 9, 10)), StepOf(PeaksOf(5, 5, 5, 20)),
                 StepOf(PeaksOf(7, 7, 7, 20))};
  EXPECT_EQ(PeakStep(trial), 1);  // the first of equals
}

TEST(PeakStepTest, IsTheOneThatAllocatedMostWithoutReserved) {
  Trial trial;
  trial.load_peaks = PeaksOf(1, 1, 1);
  trial.steps = {StepOf(PeaksOf(9, 10, 10)), StepOf(PeaksOf(8, 11, 11))};
  EXPECT_EQ(PeakStep(trial), 1);
}

TEST(PeakStepTest, IsTheLoadOnlyIfItNeededMore) {
  Trial trial;
  trial.load_peaks = PeaksOf(5, 5, 5, 20);
  EXPECT_EQ(PeakStep(trial), -1);
  trial.steps = {StepOf(PeaksOf(6, 6, 6, 20))};
  EXPECT_EQ(PeakStep(trial), 0);
  trial.load_peaks = PeaksOf(5, 5, 5, 21);
  EXPECT_EQ(PeakStep(trial), -1);
}

TEST(SteadyStepTest, IsTheLastThatWasAskedFor) {
  Trial trial;
  EXPECT_EQ(SteadyStep(trial), -1);
  StepResult evaluation = StepOf(PeaksOf(9, 9, 9));
  evaluation.kind = StepKind::kEvaluation;
  StepResult again = StepOf(PeaksOf(8, 8, 8));
  again.kind = StepKind::kAgain;
  trial.steps = {StepOf(PeaksOf(6, 6, 6)), StepOf(PeaksOf(5, 5, 5)), evaluation,
                 again};
  EXPECT_EQ(SteadyStep(trial), 1);
  EXPECT_EQ(PeakStep(trial), 2);  // the others count too
}

TEST(FragmentationTest, IsReservedLessAllocatedAtThePeakStep) {
  Trial trial;
  trial.load_peaks = PeaksOf(1, 1, 1, 1);
  trial.steps = {StepOf(PeaksOf(9, 10, 10, 12)), StepOf(PeaksOf(8, 8, 8, 15))};
  EXPECT_EQ(Fragmentation(trial), Bytes(7));
}

TEST(FragmentationTest, IsUnsetWithoutAReservedPeak) {
  Trial trial;
  trial.load_peaks = PeaksOf(1, 1, 1);
  trial.steps = {StepOf(PeaksOf(9, 10, 10))};
  EXPECT_EQ(Fragmentation(trial), std::nullopt);
}

TEST(TrialCountsTest, AddTheLoadAndEveryStep) {
  Trial trial;
  trial.load_allocation_retries = 1;
  trial.load_failed_requests = 2;
  StepResult step;
  step.allocation_retries = 10;
  step.failed_requests = 20;
  trial.steps = {step, step};
  EXPECT_EQ(AllocationRetries(trial), 21);
  EXPECT_EQ(FailedRequests(trial), 42);
}

}  // namespace
}  // namespace memplan
