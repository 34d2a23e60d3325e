#include "planner/plan/verification.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/planner/plan/outcome_table.h"
#include "tests/planner/plan/sample_trial.h"

namespace memplan {
namespace {

using ::memplan::testing::MemoryLimitOf;
using ::memplan::testing::OutcomeTable;
using ::memplan::testing::TrialOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kFits = TrialOutcome::kFits;
constexpr auto kOom = TrialOutcome::kOutOfMemory;

// A prediction from the trials so far.
using Predictor = std::function<ExpectedBatch(const std::vector<Trial>&)>;

struct VerificationRun {
  std::vector<int64_t> batches;
  std::optional<SearchAnswer> answer;
  std::optional<FallBack> fall_back;
};

VerificationRun Verify(const VerificationOptions& options,
                       const Predictor& predict, const OutcomeTable& table) {
  VerificationRun run;
  std::vector<Trial> trials;
  for (int i = 0; i < 100; ++i) {
    const VerificationDecision decision =
        DecideVerification(options, predict(trials), trials);
    if (const auto* answer = std::get_if<SearchAnswer>(&decision)) {
      run.answer = *answer;
      return run;
    }
    if (const auto* fall_back = std::get_if<FallBack>(&decision)) {
      run.fall_back = *fall_back;
      return run;
    }
    const auto& order = std::get<RunBatch>(decision);
    EXPECT_EQ(order.purpose, TrialPurpose::kVerify);
    Trial trial = table(order, 0);
    trial.batch = order.batch;
    trial.purpose = order.purpose;
    trials.push_back(trial);
    run.batches.push_back(order.batch);
  }
  ADD_FAILURE() << "it does not end";
  return run;
}

Predictor Always(int64_t batch) {
  return [batch](const std::vector<Trial>&) { return ExpectedBatch{batch}; };
}

TEST(DecideVerificationTest, AnswersWhenThePredictedBatchRan) {
  const VerificationRun run = Verify({}, Always(119), MemoryLimitOf(119));
  EXPECT_THAT(run.batches, ElementsAre(119));
  ASSERT_TRUE(run.answer.has_value());
  EXPECT_EQ(run.answer->end, SearchEnd::kFound);
  EXPECT_EQ(run.answer->safe_batch, 119);
  EXPECT_EQ(run.answer->verifying_trials, 1);
  EXPECT_EQ(run.answer->limit, SearchLimit::kMemory);
}

TEST(DecideVerificationTest, RunsTheAnswerAsOftenAsAsked) {
  const VerificationRun run =
      Verify({.repeat = 3}, Always(119), MemoryLimitOf(119));
  EXPECT_THAT(run.batches, ElementsAre(119, 119, 119));
  EXPECT_EQ(run.answer->verifying_trials, 3);
}

TEST(DecideVerificationTest, FollowsAPredictionThatMovesWithTheTrace) {
  const Predictor predict = [](const std::vector<Trial>& trials) {
    return ExpectedBatch{trials.empty() ? 119 : 121};
  };
  const VerificationRun run = Verify({}, predict, MemoryLimitOf(121));
  EXPECT_THAT(run.batches, ElementsAre(119, 121));
  EXPECT_EQ(run.answer->safe_batch, 121);
}

TEST(DecideVerificationTest, StopsAtTheLargestAllowedBatch) {
  const VerificationRun run =
      Verify({.max_batch = 64}, Always(119), MemoryLimitOf(1000));
  EXPECT_THAT(run.batches, ElementsAre(64));
  EXPECT_EQ(run.answer->limit, SearchLimit::kMaxBatch);
}

TEST(DecideVerificationTest, GoesLowerAfterAFailureAndLearnsFromWhatRuns) {
  // 0.4 % lower at first; the trace of 3985 corrects the law.
  const Predictor predict = [](const std::vector<Trial>& trials) {
    const bool ran = !trials.empty() && trials.back().outcome == kFits;
    return ExpectedBatch{ran ? 3990 : 4000};
  };
  const VerificationRun run = Verify({}, predict, MemoryLimitOf(3990));
  EXPECT_THAT(run.batches, ElementsAre(4000, 3985, 3990));
  EXPECT_EQ(run.answer->safe_batch, 3990);
}

TEST(DecideVerificationTest, GoesLowerByTwiceAsMuchEachTime) {
  const VerificationRun run = Verify({}, Always(400), MemoryLimitOf(100));
  EXPECT_THAT(run.batches, ElementsAre(400, 399, 397, 393, 385));
  ASSERT_TRUE(run.fall_back.has_value());
  EXPECT_THAT(run.fall_back->reason, HasSubstr("5 trials"));
}

TEST(DecideVerificationTest, AnswersJustBelowAFailure) {
  const VerificationRun run = Verify({}, Always(40), MemoryLimitOf(39));
  EXPECT_THAT(run.batches, ElementsAre(40, 39));
  EXPECT_EQ(run.answer->safe_batch, 39);
}

TEST(DecideVerificationTest, ClosesTheGapWhenItsPredictionStaysWrong) {
  const VerificationRun run = Verify({}, Always(400), MemoryLimitOf(397));
  EXPECT_THAT(run.batches, ElementsAre(400, 399, 397, 398));
  ASSERT_TRUE(run.answer.has_value());
  EXPECT_EQ(run.answer->safe_batch, 397);
}

// ResNet-50 for inference under 40 GiB on the H200: the trace of what ran spoke
// for two more.
TEST(DecideVerificationTest, RunsWhatIsBetweenARunAndAFailure) {
  const Predictor predict = [](const std::vector<Trial>& trials) {
    return ExpectedBatch{trials.empty() ? 3186 : 3188};
  };
  for (const int64_t limit : {3186, 3187}) {
    const VerificationRun run =
        Verify({.max_trials = 3}, predict, MemoryLimitOf(limit));
    EXPECT_THAT(run.batches, ElementsAre(3186, 3188, 3187));
    ASSERT_TRUE(run.answer.has_value());
    EXPECT_EQ(run.answer->safe_batch, limit);
    EXPECT_EQ(run.answer->verifying_trials, 1);
  }
}

// As ResNet-50 AdamW bf16 under 40 GiB: three trials are used up in a gap of one.
TEST(DecideVerificationTest, TakesMoreTrialsToCloseASmallGap) {
  const Predictor predict = [](const std::vector<Trial>& trials) {
    return ExpectedBatch{trials.size() < 2 ? 944 : 943};
  };
  const auto run_with = [&](int64_t limit) {
    return Verify({.max_trials = 3}, predict, MemoryLimitOf(limit));
  };
  EXPECT_THAT(run_with(943).batches, ElementsAre(944, 941, 943));
  EXPECT_EQ(run_with(943).answer->safe_batch, 943);
  for (const int64_t limit : {941, 942}) {
    EXPECT_THAT(run_with(limit).batches, ElementsAre(944, 941, 943, 942));
    EXPECT_EQ(run_with(limit).answer->safe_batch, limit);
  }
}

TEST(DecideVerificationTest, LeavesAWideGapToBisection) {
  const VerificationRun run =
      Verify({.max_trials = 3}, Always(4000), MemoryLimitOf(3986));
  EXPECT_THAT(run.batches, ElementsAre(4000, 3985, 3993));
  ASSERT_TRUE(run.fall_back.has_value());
  EXPECT_EQ(run.fall_back->reason, "no prediction held in 3 trials");
}

// Where only scratch is refused to the batch above, it is run as well.
TEST(DecideVerificationTest, RunsABatchThatMayDoWithoutScratch) {
  const auto predictor = [](int64_t right) -> Predictor {
    return [right](const std::vector<Trial>& trials) {
      // The prediction never moves; at `right` scratch is no question any more.
      return ExpectedBatch{486, std::ssize(trials) < right};
    };
  };
  const VerificationRun refused =
      Verify({.max_trials = 3}, predictor(3), MemoryLimitOf(486));
  EXPECT_THAT(refused.batches, ElementsAre(486, 487));
  EXPECT_EQ(refused.answer->safe_batch, 486);
  const VerificationRun ran =
      Verify({.max_trials = 3}, predictor(3), MemoryLimitOf(490));
  EXPECT_THAT(ran.batches, ElementsAre(486, 487));
  EXPECT_EQ(ran.answer->safe_batch, 487);
  EXPECT_EQ(ran.answer->verifying_trials, 1);
}

TEST(DecideVerificationTest, KeepsATrialForEachRepeatOfAnOpenBatch) {
  const Predictor predict = [](const std::vector<Trial>&) {
    return ExpectedBatch{486, true};
  };
  const VerificationRun run =
      Verify({.repeat = 2, .max_trials = 4}, predict, MemoryLimitOf(490));
  EXPECT_THAT(run.batches, ElementsAre(486, 486, 487, 487));
  EXPECT_EQ(run.answer->safe_batch, 487);
  EXPECT_THAT(
      Verify({.repeat = 2, .max_trials = 3}, predict, MemoryLimitOf(490))
          .batches,
      ElementsAre(486, 486));
  EXPECT_THAT(Verify({.max_batch = 486}, predict, MemoryLimitOf(490)).batches,
              ElementsAre(486));
}

TEST(DecideVerificationTest, FallsBackWithoutAPrediction) {
  const auto decide = [](std::optional<ExpectedBatch> predicted,
                         const std::vector<Trial>& trials) {
    return std::get<FallBack>(DecideVerification({}, predicted, trials)).reason;
  };
  EXPECT_THAT(decide(std::nullopt, {}),
              HasSubstr("nothing could be predicted"));
  EXPECT_THAT(decide(ExpectedBatch{0}, {}), HasSubstr("not one sample"));
  EXPECT_THAT(
      decide(ExpectedBatch{1}, {TrialOf(1, kOom, TrialPurpose::kVerify)}),
      HasSubstr("smallest batches"));
  EXPECT_THAT(decide(ExpectedBatch{8}, {TrialOf(8, TrialOutcome::kTimedOut)}),
              HasSubstr("batch 8 failed for another reason"));
}

TEST(DecideVerificationTest, CountsTheRecordingTrialsAsRuns) {
  // 16 was run to be recorded: it is known to run.
  const std::vector<Trial> trials = {
      TrialOf(8, kFits, TrialPurpose::kProfile),
      TrialOf(16, kFits, TrialPurpose::kProfile)};
  const VerificationDecision decision =
      DecideVerification({}, ExpectedBatch{16}, trials);
  EXPECT_EQ(std::get<SearchAnswer>(decision).safe_batch, 16);
}

TEST(DecideVerificationTest, RunsARecordedBatchInAFreshProcess) {
  const std::vector<Trial> trials = {TrialOf(16, kFits, TrialPurpose::kRecord)};
  EXPECT_EQ(
      std::get<RunBatch>(DecideVerification({}, ExpectedBatch{16}, trials)),
      (RunBatch{16, TrialPurpose::kVerify}));
}

TEST(DecideVerificationTest, ForgivesOneDeath) {
  std::vector<Trial> trials = {
      TrialOf(119, TrialOutcome::kWorkerDied, TrialPurpose::kVerify)};
  EXPECT_EQ(
      std::get<RunBatch>(DecideVerification({}, ExpectedBatch{119}, trials))
          .batch,
      119);
  trials.push_back(trials.front());
  EXPECT_THAT(
      std::get<FallBack>(DecideVerification({}, ExpectedBatch{119}, trials))
          .reason,
      HasSubstr("batch 119 failed for another reason"));
}

TEST(DecideVerificationTest, NeverRunsMoreThanAllowed) {
  for (int64_t predicted = 1; predicted <= 300; predicted += 7) {
    for (int64_t limit = 0; limit <= 300; limit += 11) {
      const VerificationRun run =
          Verify({}, Always(predicted), MemoryLimitOf(limit));
      EXPECT_LE(run.batches.size(), 5 + kClosingTrials);
      EXPECT_NE(run.answer.has_value(), run.fall_back.has_value());
      if (run.answer.has_value()) {
        EXPECT_LE(run.answer->safe_batch, limit);
      }
    }
  }
}

}  // namespace
}  // namespace memplan
