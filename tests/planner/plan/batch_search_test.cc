#include "planner/plan/batch_search.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/plan/trial.h"
#include "tests/planner/plan/outcome_table.h"
#include "tests/planner/plan/sample_trial.h"

namespace memplan {
namespace {

using ::memplan::testing::Ended;
using ::memplan::testing::MemoryLimitOf;
using ::memplan::testing::OutcomeTable;
using ::memplan::testing::RunSearch;
using ::memplan::testing::SearchRun;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr auto kFits = TrialOutcome::kFits;
constexpr auto kOom = TrialOutcome::kOutOfMemory;
constexpr auto kShape = TrialOutcome::kShapeRefused;
constexpr auto kModel = TrialOutcome::kModelFailed;
constexpr auto kTimedOut = TrialOutcome::kTimedOut;
constexpr auto kDied = TrialOutcome::kWorkerDied;
constexpr size_t kMostTrials = kMaxSearchTrials;

// Letters of the purposes in the order run: s(earch), n(eighbour), v(erify).
std::string Purposes(const SearchRun& run) {
  std::string purposes;
  for (const Trial& trial : run.trials) {
    purposes += trial.purpose == TrialPurpose::kSearch      ? 's'
                : trial.purpose == TrialPurpose::kNeighbour ? 'n'
                : trial.purpose == TrialPurpose::kVerify    ? 'v'
                                                            : '?';
  }
  return purposes;
}

// The trial before a search under a budget.
Trial Calibrating(int64_t batch, TrialOutcome outcome) {
  Trial trial = Ended(outcome);
  trial.batch = batch;
  trial.purpose = TrialPurpose::kCalibrate;
  return trial;
}

// Batches run below `limit` but for the exceptions.
OutcomeTable Exceptions(int64_t limit,
                        std::map<int64_t, std::vector<TrialOutcome>> table) {
  return [=](const RunBatch& order, int nth) {
    const auto found = table.find(order.batch);
    if (found == table.end()) return MemoryLimitOf(limit)(order, nth);
    const auto& outcomes = found->second;
    return Ended(outcomes[std::min<size_t>(nth, outcomes.size() - 1)], "words");
  };
}

SearchRun RunAgainst(const OutcomeTable& table,
                     const SearchOptions& options = {}) {
  SearchRun run = RunSearch(options, table, kMostTrials);
  EXPECT_TRUE(run.ended);
  return run;
}

SearchAnswer Answer(SearchEnd end, int64_t safe_batch, int verifying_trials,
                    SearchLimit limit, std::string message = "") {
  SearchAnswer answer;
  answer.end = end;
  answer.safe_batch = safe_batch;
  answer.verifying_trials = verifying_trials;
  answer.limit = limit;
  answer.message = std::move(message);
  return answer;
}

// Sequences of trials worked out by hand.

TEST(BatchSearchTest, DoublesHalvesRunsNeighboursAndVerifies) {
  const SearchRun run = RunAgainst(MemoryLimitOf(37));
  EXPECT_THAT(run.Batches(),
              ElementsAre(8, 16, 32, 64, 48, 40, 36, 38, 37, 35, 39, 37));
  EXPECT_EQ(Purposes(run), "sssssssssnnv");
  EXPECT_EQ(run.answer, Answer(SearchEnd::kFound, 37, 1, SearchLimit::kMemory));
}

TEST(BatchSearchTest, RunsTheLargestAllowedBatchItself) {
  const SearchRun run = RunAgainst(MemoryLimitOf(1000), {.max_batch = 100});
  EXPECT_THAT(run.Batches(), ElementsAre(8, 16, 32, 64, 100, 98, 99, 100));
  EXPECT_EQ(Purposes(run), "sssssnnv");
  EXPECT_EQ(run.answer,
            Answer(SearchEnd::kFound, 100, 1, SearchLimit::kMaxBatch));
}

TEST(BatchSearchTest, NeverGoesAboveTheLargestAllowedBatch) {
  const SearchRun run =
      RunAgainst(MemoryLimitOf(1000), {.first_batch = 8, .max_batch = 5});
  EXPECT_THAT(run.Batches(), ElementsAre(5, 3, 4, 5));
  EXPECT_EQ(run.answer.safe_batch, 5);
}

TEST(BatchSearchTest, TakesOneAsTheLargestAllowedBatch) {
  const SearchRun run = RunAgainst(MemoryLimitOf(1000), {.max_batch = 1});
  EXPECT_THAT(run.Batches(), ElementsAre(1, 1));
  EXPECT_EQ(run.answer.limit, SearchLimit::kMaxBatch);
}

TEST(BatchSearchTest, FindsALimitJustBelowTheLargestAllowedBatch) {
  const SearchRun run = RunAgainst(MemoryLimitOf(99), {.max_batch = 100});
  EXPECT_THAT(run.Batches(),
              ElementsAre(8, 16, 32, 64, 100, 82, 91, 95, 97, 98, 99, 99));
  EXPECT_EQ(run.answer.safe_batch, 99);
  EXPECT_EQ(run.answer.limit, SearchLimit::kMemory);
}

TEST(BatchSearchTest, FindsALimitOfOne) {
  const SearchRun run = RunAgainst(MemoryLimitOf(1));
  EXPECT_THAT(run.Batches(), ElementsAre(8, 1, 4, 2, 3, 1));
  EXPECT_EQ(Purposes(run), "ssssnv");
  EXPECT_EQ(run.answer.safe_batch, 1);
}

TEST(BatchSearchTest, FindsALimitOfTwo) {
  const SearchRun run = RunAgainst(MemoryLimitOf(2));
  EXPECT_THAT(run.Batches(), ElementsAre(8, 1, 4, 2, 3, 2));
  EXPECT_EQ(run.answer.safe_batch, 2);
}

TEST(BatchSearchTest, FindsALimitOfThree) {
  const SearchRun run = RunAgainst(MemoryLimitOf(3));
  EXPECT_THAT(run.Batches(), ElementsAre(8, 1, 4, 2, 3, 5, 3));
  EXPECT_EQ(run.answer.safe_batch, 3);
}

TEST(BatchSearchTest, VerifiesAsOftenAsAsked) {
  const SearchRun run = RunAgainst(
      MemoryLimitOf(100), {.first_batch = 4, .max_batch = 4, .repeat = 3});
  EXPECT_THAT(run.Batches(), ElementsAre(4, 2, 3, 4, 4, 4));
  EXPECT_EQ(run.answer.verifying_trials, 3);
}

TEST(BatchSearchTest, CountsACalibratingTrialLikeAnyOther) {
  const Trial calibrating = Calibrating(1, kFits);
  const SearchRun run =
      RunSearch({}, MemoryLimitOf(9), kMostTrials, {calibrating});
  EXPECT_THAT(run.Batches(), ElementsAre(1, 8, 16, 12, 10, 9, 7, 11, 9));
  EXPECT_EQ(run.answer.safe_batch, 9);
}

// It ran under the whole budget and took a little more than that leaves: under
// the cap it may yet run.
TEST(BatchSearchTest, RunsACalibratingTrialAboveTheBudgetOnceMore) {
  const Trial calibrating = Calibrating(8, kOom);
  const SearchRun run =
      RunSearch({}, MemoryLimitOf(8), kMostTrials, {calibrating});
  EXPECT_THAT(run.Batches(), ElementsAre(8, 8, 16, 12, 10, 9, 6, 7, 8));
  EXPECT_EQ(run.answer.safe_batch, 8);
}

TEST(BatchSearchTest, CountsACalibratingTrialWhoseRequestFailed) {
  Trial calibrating = Calibrating(8, kOom);
  calibrating.load_failed_requests = 1;
  const SearchRun run =
      RunSearch({}, MemoryLimitOf(0), kMostTrials, {calibrating});
  EXPECT_THAT(run.Batches(), ElementsAre(8, 1));
  EXPECT_EQ(run.answer.end, SearchEnd::kDoesNotFit);
}

// What does not fit.

TEST(BatchSearchTest, KnowsInTwoTrialsThatNothingFits) {
  const SearchRun run = RunAgainst(MemoryLimitOf(0));
  EXPECT_THAT(run.Batches(), ElementsAre(8, 1));
  EXPECT_EQ(run.answer,
            Answer(SearchEnd::kDoesNotFit, 0, 0, SearchLimit::kMemory,
                   "batch 1 ran out of memory"));
}

TEST(BatchSearchTest, KnowsAtOnceThatTheModelDoesNotLoad) {
  const SearchRun run = RunAgainst([](const RunBatch&, int) {
    Trial trial = Ended(kOom, "the weights take 3 GiB");
    trial.failed_while_loading = true;
    return trial;
  });
  EXPECT_THAT(run.Batches(), ElementsAre(8));
  EXPECT_EQ(run.answer.end, SearchEnd::kDoesNotFit);
  EXPECT_THAT(run.answer.message, HasSubstr("the weights take 3 GiB"));
}

TEST(BatchSearchTest, FailsAtOnceIfTheModelCannotBeRead) {
  const SearchRun run = RunAgainst([](const RunBatch&, int) {
    Trial trial = Ended(kModel, "unexpected end of archive");
    trial.failed_while_loading = true;
    return trial;
  });
  EXPECT_THAT(run.Batches(), ElementsAre(8));
  EXPECT_EQ(run.answer.end, SearchEnd::kFailed);
  EXPECT_EQ(run.answer.message,
            "batch 8 failed in the model: unexpected end of archive");
}

// Even if a smaller batch ran: it looks at its inputs and then reaches out.
TEST(BatchSearchTest, FailsAtOnceIfTheSandboxRefusesSomething) {
  const SearchRun run = RunAgainst([](const RunBatch& order, int) {
    return order.batch < 16
               ? Ended(kFits)
               : Ended(TrialOutcome::kSandboxRefused, "Permission denied");
  });
  EXPECT_THAT(run.Batches(), ElementsAre(8, 16));
  EXPECT_EQ(run.answer.end, SearchEnd::kFailed);
  EXPECT_EQ(run.answer.message,
            "batch 16 reached for what the sandbox keeps from it: Permission "
            "denied");
}

TEST(BatchSearchTest, FailsInTwoTrialsIfNoBatchRunsForAnotherReason) {
  const SearchRun run = RunAgainst([](const RunBatch&, int) {
    return Ended(kModel, "expected scalar type Long but found Float");
  });
  EXPECT_THAT(run.Batches(), ElementsAre(8, 1));
  EXPECT_EQ(run.answer.end, SearchEnd::kFailed);
  EXPECT_EQ(run.answer.safe_batch, 0);
  EXPECT_THAT(run.answer.message,
              HasSubstr("expected scalar type Long but found Float"));
}

// Failures that are no lack of memory.

// As batch normalisation in training does.
TEST(BatchSearchTest, LeavesOutABatchOfOneThatTheModelRefuses) {
  const auto up_to_five = [](const RunBatch& order, int) {
    if (order.batch == 1) return Ended(kModel, "more than 1 value expected");
    return Ended(order.batch <= 5 ? kFits : kOom);
  };
  const SearchRun run = RunAgainst(up_to_five);
  EXPECT_THAT(run.Batches(), ElementsAre(8, 1, 2, 5, 6, 3, 4, 7, 5));
  const std::string message =
      "batch 1 failed in the model: more than 1 value expected";
  EXPECT_EQ(run.answer,
            Answer(SearchEnd::kFound, 5, 1, SearchLimit::kMemory, message));
  // It comes last where the largest allowed batch is that small.
  SearchOptions small;
  small.max_batch = 3;
  const SearchRun allowed = RunSearch(small, up_to_five, kMostTrials);
  EXPECT_THAT(allowed.Batches(), ElementsAre(3, 1, 2, 3));
  EXPECT_EQ(allowed.answer,
            Answer(SearchEnd::kFound, 3, 1, SearchLimit::kMaxBatch, message));
}

TEST(BatchSearchTest, SaysThatNothingFitsIfOneIsRefusedAndTwoDoNotFit) {
  const SearchRun run = RunAgainst([](const RunBatch& order, int) {
    return Ended(order.batch == 1 ? kModel : kOom);
  });
  EXPECT_THAT(run.Batches(), ElementsAre(8, 1, 2));
  EXPECT_EQ(run.answer.end, SearchEnd::kDoesNotFit);
}

TEST(BatchSearchTest, TakesATimeoutAsAWall) {
  // 11 is the first that takes too long; 12 and above are never tried.
  const SearchRun run = RunAgainst([](const RunBatch& order, int) {
    return Ended(order.batch <= 10 ? kFits : kTimedOut);
  });
  EXPECT_THAT(run.Batches(), ElementsAre(8, 16, 12, 10, 11, 9, 10));
  EXPECT_EQ(run.answer,
            Answer(SearchEnd::kFound, 10, 1, SearchLimit::kOtherFailure,
                   "batch 11 took longer than a trial "
                   "may"));
}

TEST(BatchSearchTest, DoesNotRunTheSecondNeighbourBehindAWall) {
  // 11 runs out of memory, 12 is known to time out.
  const SearchRun run = RunAgainst(Exceptions(10, {{12, {kTimedOut}}}));
  EXPECT_THAT(run.Batches(), ElementsAre(8, 16, 12, 10, 11, 9, 10));
  EXPECT_EQ(run.answer.limit, SearchLimit::kMemory);
}

TEST(BatchSearchTest, GivesABatchWhoseWorkerDiedOneMoreTry) {
  const SearchRun run = RunAgainst(Exceptions(9, {{8, {kDied, kFits}}}));
  EXPECT_THAT(run.Batches(), ElementsAre(8, 8, 16, 12, 10, 9, 7, 11, 9));
  EXPECT_EQ(run.answer.safe_batch, 9);
  EXPECT_EQ(run.answer.limit, SearchLimit::kMemory);
}

TEST(BatchSearchTest, TakesASecondDeathAsAWall) {
  const SearchRun run = RunAgainst(Exceptions(1000, {{16, {kDied}}}));
  EXPECT_THAT(run.Batches(), ElementsAre(8, 16, 16, 12, 14, 15, 13, 15));
  EXPECT_EQ(run.answer.safe_batch, 15);
  EXPECT_EQ(run.answer.limit, SearchLimit::kOtherFailure);
  EXPECT_EQ(run.answer.message, "batch 16 ended the worker: words");
}

TEST(BatchSearchTest, RunsAVerificationAgainWhoseWorkerDied) {
  const SearchRun run = RunAgainst(Exceptions(1, {{1, {kFits, kDied, kFits}}}));
  EXPECT_THAT(run.Batches(), ElementsAre(8, 1, 4, 2, 3, 1, 1));
  EXPECT_EQ(run.answer.safe_batch, 1);
  EXPECT_EQ(run.answer.verifying_trials, 1);
}

// Holes and unsteady batches.

TEST(BatchSearchTest, NamesALargerBatchThatRunsAboveAHole) {
  // DenseNet-121 under 16 GiB: 121 and 123 run, 122 does not.
  const SearchRun run = RunAgainst(Exceptions(123, {{122, {kOom}}}));
  EXPECT_EQ(run.answer.safe_batch, 121);
  EXPECT_EQ(run.answer.limit, SearchLimit::kMemory);
  EXPECT_THAT(run.answer.unsafe_running_batches, ElementsAre(123));
}

TEST(BatchSearchTest, MovesBelowAHoleJustBelowTheAnswer) {
  // 20 is found first, then its neighbour 19 fails; 17 and 18 are left.
  const SearchRun run = RunAgainst(Exceptions(20, {{19, {kOom}}}));
  EXPECT_THAT(run.Batches(),
              ElementsAre(8, 16, 32, 24, 20, 22, 21, 18, 19, 17, 18));
  EXPECT_EQ(run.answer.safe_batch, 18);
  EXPECT_THAT(run.answer.unsafe_running_batches, ElementsAre(20));
}

TEST(BatchSearchTest, MovesBelowAHoleTwoBelowTheAnswer) {
  const SearchRun run = RunAgainst(Exceptions(20, {{18, {kOom}}}));
  EXPECT_THAT(run.Batches(),
              ElementsAre(8, 16, 32, 24, 20, 22, 21, 18, 17, 15, 19, 17));
  EXPECT_EQ(run.answer.safe_batch, 17);
  EXPECT_THAT(run.answer.unsafe_running_batches, ElementsAre(19, 20));
}

TEST(BatchSearchTest, MovesBelowAnAnswerThatFailsWhenRunAgain) {
  const SearchRun run = RunAgainst(Exceptions(9, {{9, {kFits, kOom}}}));
  EXPECT_THAT(run.Batches(), ElementsAre(8, 16, 12, 10, 9, 7, 11, 9, 6, 8));
  EXPECT_EQ(Purposes(run), "sssssnnvnv");
  EXPECT_EQ(run.answer.safe_batch, 8);
  EXPECT_EQ(run.answer.limit, SearchLimit::kMemory);
  EXPECT_THAT(run.answer.unsafe_running_batches, IsEmpty());
}

TEST(BatchSearchTest, GivesUpIfNoBatchRunsTwice) {
  const SearchRun run = RunAgainst(
      [](const RunBatch&, int nth) { return Ended(nth == 0 ? kFits : kOom); });
  EXPECT_EQ(run.trials.size(), kMaxSearchTrials);
  EXPECT_EQ(run.answer.end, SearchEnd::kFailed);
  EXPECT_EQ(run.answer.safe_batch, 0);
  EXPECT_THAT(run.answer.message, HasSubstr("nothing else uses the device"));
}

// Models with a batch baked in.

OutcomeTable FixedAt(int64_t only, std::optional<int64_t> traced) {
  return [=](const RunBatch& order, int) {
    Trial trial = Ended(order.batch == only ? kFits : kShape, "mismatch");
    trial.traced_batch = traced;
    return trial;
  };
}

TEST(FixedBatchTest, RunsTheTracedBatchAfterTheFirstMismatch) {
  const SearchRun run = RunAgainst(FixedAt(2, 2));
  EXPECT_THAT(run.Batches(), ElementsAre(8, 2, 2));
  EXPECT_EQ(Purposes(run), "ssv");
  EXPECT_EQ(run.answer,
            Answer(SearchEnd::kFixedBatch, 2, 1, SearchLimit::kOtherFailure,
                   "batch 8 was refused by the model for its "
                   "shape: mismatch"));
}

TEST(FixedBatchTest, IsTheOneThatRanBeforeTheMismatch) {
  const SearchRun run = RunAgainst(FixedAt(8, std::nullopt), {.repeat = 2});
  EXPECT_THAT(run.Batches(), ElementsAre(8, 16, 8, 8));
  EXPECT_EQ(run.answer.end, SearchEnd::kFixedBatch);
  EXPECT_EQ(run.answer.safe_batch, 8);
  EXPECT_EQ(run.answer.verifying_trials, 2);
}

TEST(FixedBatchTest, FailsWithTheModelsWordsIfTheBatchIsUnknown) {
  const SearchRun run = RunAgainst(FixedAt(2, std::nullopt));
  EXPECT_THAT(run.Batches(), ElementsAre(8));
  EXPECT_EQ(run.answer.end, SearchEnd::kFailed);
  EXPECT_THAT(run.answer.message, HasSubstr("mismatch"));
}

TEST(FixedBatchTest, FailsIfTheTracedBatchIsRefusedToo) {
  const SearchRun run = RunAgainst(FixedAt(1000, 2));
  EXPECT_THAT(run.Batches(), ElementsAre(8, 2));
  EXPECT_EQ(run.answer.end, SearchEnd::kFailed);
}

TEST(FixedBatchTest, FailsIfTheTracedBatchIsTheRefusedOne) {
  const SearchRun run = RunAgainst(FixedAt(1000, 8));
  EXPECT_THAT(run.Batches(), ElementsAre(8));
  EXPECT_EQ(run.answer.end, SearchEnd::kFailed);
}

TEST(FixedBatchTest, FailsIfTheTracedBatchIsAboveTheLargestAllowed) {
  const SearchRun run = RunAgainst(FixedAt(64, 64), {.max_batch = 32});
  EXPECT_THAT(run.Batches(), ElementsAre(8));
  EXPECT_EQ(run.answer.end, SearchEnd::kFailed);
  EXPECT_THAT(run.answer.message,
              HasSubstr("traced at batch 64, above the largest allowed, 32"));
}

TEST(FixedBatchTest, DoesNotFitIfTheTracedBatchRunsOutOfMemory) {
  const SearchRun run = RunAgainst([](const RunBatch& order, int) {
    Trial trial = Ended(order.batch == 64 ? kOom : kShape, "words");
    trial.traced_batch = 64;
    return trial;
  });
  EXPECT_THAT(run.Batches(), ElementsAre(8, 64));
  EXPECT_EQ(run.answer.end, SearchEnd::kDoesNotFit);
  EXPECT_EQ(run.answer.message, "batch 64 ran out of memory: words");
}

TEST(FixedBatchTest, TriesTheFirstBatchIfOnlyTheCalibratingOneWasRefused) {
  const Trial calibrating = Calibrating(1, kShape);
  const SearchRun run =
      RunSearch({}, FixedAt(8, std::nullopt), kMostTrials, {calibrating});
  EXPECT_THAT(run.Batches(), ElementsAre(1, 8, 8));
  EXPECT_EQ(run.answer.end, SearchEnd::kFixedBatch);
  EXPECT_EQ(run.answer.safe_batch, 8);
}

TEST(FixedBatchTest, IsNotMeantIfTwoBatchesRan) {
  // Positions for 20 samples at most: a wall like another.
  const SearchRun run = RunAgainst([](const RunBatch& order, int) {
    return Ended(order.batch <= 20 ? kFits : kShape, "index out of range");
  });
  EXPECT_EQ(run.answer.end, SearchEnd::kFound);
  EXPECT_EQ(run.answer.safe_batch, 20);
  EXPECT_EQ(run.answer.limit, SearchLimit::kOtherFailure);
  EXPECT_THAT(run.answer.message,
              AllOf(StartsWith("batch 21"), HasSubstr("index out of range")));
}

}  // namespace
}  // namespace memplan
