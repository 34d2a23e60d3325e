#include "planner/plan/batch_table.h"

#include <vector>

#include "gtest/gtest.h"
#include "planner/plan/trial.h"
#include "tests/planner/plan/sample_trial.h"

namespace memplan {
namespace {

using ::memplan::testing::TrialOf;

constexpr auto kFits = TrialOutcome::kFits;
constexpr auto kOom = TrialOutcome::kOutOfMemory;
constexpr auto kDied = TrialOutcome::kWorkerDied;

// The record of batch 4 after trials of it that ended so.
BatchRecord RecordAfter(const std::vector<TrialOutcome>& outcomes) {
  std::vector<Trial> trials;
  for (TrialOutcome outcome : outcomes) trials.push_back(TrialOf(4, outcome));
  const BatchTable table(trials);
  return *table.Find(4);
}

TEST(BatchTableTest, KnowsNothingOfABatchThatWasNotRun) {
  const BatchTable table({});
  EXPECT_EQ(table.Find(4), nullptr);
  EXPECT_EQ(table.StateOf(4), BatchState::kUnknown);
}

TEST(BatchTableTest, CountsRuns) {
  const BatchRecord record = RecordAfter({kFits, kFits});
  EXPECT_EQ(record.state, BatchState::kRuns);
  EXPECT_EQ(record.runs, 2);
  EXPECT_EQ(record.deciding_trial, 0U);
}

TEST(BatchTableTest, OneFailureOutweighsEveryRun) {
  const BatchRecord record = RecordAfter({kFits, kOom, kFits, kOom});
  EXPECT_EQ(record.state, BatchState::kFailed);
  EXPECT_EQ(record.deciding_trial, 1U);
}

TEST(BatchTableTest, ForgivesOneDeath) {
  EXPECT_EQ(RecordAfter({kDied}).state, BatchState::kUnknown);
  EXPECT_EQ(RecordAfter({kDied, kFits}).state, BatchState::kRuns);
  EXPECT_EQ(RecordAfter({kDied, kFits}).deciding_trial, 1U);
  EXPECT_EQ(RecordAfter({kFits, kDied}).state, BatchState::kRuns);
  EXPECT_EQ(RecordAfter({kFits, kDied}).deciding_trial, 0U);
}

TEST(BatchTableTest, CountsTheSecondDeathAsAFailure) {
  EXPECT_EQ(RecordAfter({kDied, kDied}).state, BatchState::kFailed);
  EXPECT_EQ(RecordAfter({kDied, kFits, kDied}).state, BatchState::kFailed);
  EXPECT_EQ(RecordAfter({kDied, kFits, kDied}).deciding_trial, 2U);
}

TEST(BatchTableTest, FindsTheSmallestFailingAndTheLargestRunningBelow) {
  const std::vector<Trial> trials = {TrialOf(8, kFits),  TrialOf(16, kOom),
                                     TrialOf(12, kOom),  TrialOf(10, kFits),
                                     TrialOf(11, kDied), TrialOf(14, kFits)};
  const BatchTable table(trials);
  EXPECT_EQ(table.SmallestFailing(), 12);
  EXPECT_EQ(table.LargestRunningBelow(12), 10);
  EXPECT_EQ(table.LargestRunningBelow(10), 8);
  EXPECT_EQ(table.LargestRunningBelow(8), 0);
  EXPECT_EQ(table.LargestRunningBelow(100), 14);
}

TEST(BatchTableTest, LeavesOutBatchesOutOfRange) {
  const std::vector<Trial> trials = {TrialOf(0, kOom), TrialOf(5, kOom),
                                     TrialOf(4, kFits)};
  const BatchTable table(trials, /*max_batch=*/4);
  EXPECT_EQ(table.SmallestFailing(), 0);
  EXPECT_EQ(table.records().size(), 1U);
}

}  // namespace
}  // namespace memplan
