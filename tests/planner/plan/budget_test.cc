#include "planner/plan/budget.h"

#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/base/bytes.h"
#include "planner/base/format.h"
#include "planner/plan/trial.h"
#include "tests/planner/plan/sample_trial.h"

namespace memplan {
namespace {

using ::memplan::testing::PeaksOf;
using ::memplan::testing::TrialOf;
using ::testing::AllOf;
using ::testing::HasSubstr;

MemoryLimit CapOf(Bytes cap) { return {.cap = cap, .budget = std::nullopt}; }
MemoryLimit BudgetOf(Bytes budget) {
  return {.cap = std::nullopt, .budget = budget};
}

Trial WithContext(Bytes context) {
  Trial trial = TrialOf(1, TrialOutcome::kFits);
  trial.context = context;
  return trial;
}

TEST(CapForNextTrialTest, IsUnsetWithoutALimit) {
  EXPECT_EQ(CapForNextTrial({}, {}), std::nullopt);
}

TEST(CapForNextTrialTest, IsTheCapWhateverTheContext) {
  const std::vector<Trial> trials = {WithContext(GiB(1))};
  EXPECT_EQ(CapForNextTrial(CapOf(GiB(2)), trials), GiB(2));
}

TEST(CapForNextTrialTest, IsTheWholeBudgetBeforeTheFirstTrial) {
  EXPECT_EQ(CapForNextTrial(BudgetOf(GiB(16)), {}), GiB(16));
}

TEST(CapForNextTrialTest, IsTheBudgetLessTheLargestContextSeen) {
  const std::vector<Trial> trials = {WithContext(MiB(700)),
                                     WithContext(MiB(800)),
                                     TrialOf(2, TrialOutcome::kOutOfMemory)};
  EXPECT_EQ(CapForNextTrial(BudgetOf(MiB(1000)), trials), MiB(200));
}

TEST(CapForNextTrialTest, IsNeverBelowZero) {
  const std::vector<Trial> trials = {WithContext(MiB(700))};
  EXPECT_EQ(CapForNextTrial(BudgetOf(MiB(500)), trials), Bytes(0));
}

TEST(JudgedByBudgetTest, LeavesATrialWithinTheBudget) {
  Trial trial = WithContext(MiB(700));
  trial.load_peaks = PeaksOf(0, 0, 0, MiB(324).count());
  EXPECT_EQ(JudgedByBudget(trial, BudgetOf(MiB(1024))), trial);  // exactly
}

TEST(JudgedByBudgetTest, TurnsATrialAboveTheBudgetIntoOneOutOfMemory) {
  Trial trial = WithContext(MiB(700));
  trial.load_peaks = PeaksOf(0, 0, 0, MiB(325).count());
  const Trial judged = JudgedByBudget(trial, BudgetOf(MiB(1024)));
  EXPECT_EQ(judged.outcome, TrialOutcome::kOutOfMemory);
  EXPECT_THAT(judged.message,
              AllOf(HasSubstr("325 MiB in the allocator"),
                    HasSubstr("700 MiB outside it"),
                    HasSubstr("1.00 MiB above the budget of 1.00 GiB")));
}

TEST(JudgedByBudgetTest, GoesByAllocatedWithoutReserved) {
  Trial trial = TrialOf(1, TrialOutcome::kFits);  // no context either
  trial.load_peaks = PeaksOf(0, MiB(11).count(), 0);
  EXPECT_EQ(JudgedByBudget(trial, BudgetOf(MiB(10))).outcome,
            TrialOutcome::kOutOfMemory);
  EXPECT_EQ(JudgedByBudget(trial, BudgetOf(MiB(11))).outcome,
            TrialOutcome::kFits);
}

TEST(JudgedByBudgetTest, LeavesOtherOutcomesAndOtherLimits) {
  Trial trial = WithContext(GiB(7));
  trial.outcome = TrialOutcome::kTimedOut;
  EXPECT_EQ(JudgedByBudget(trial, BudgetOf(MiB(1))), trial);
  trial.outcome = TrialOutcome::kFits;
  EXPECT_EQ(JudgedByBudget(trial, CapOf(MiB(1))), trial);
  EXPECT_EQ(JudgedByBudget(trial, {}), trial);
}

}  // namespace
}  // namespace memplan
