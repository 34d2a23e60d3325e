#include "server/jobs/fast_execution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/server/core/fast_execution_fixture.h"

namespace memplan {
namespace {

using ::memplan::testing::FakeTrialRunner;
using ::memplan::testing::TrialThat;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using FastExecutionTest = ::memplan::testing::FastExecutionFixture;

// 928 MiB for samples of 16 MiB: 58.
TEST_F(FastExecutionTest, FindsTheAnswerInThreeTrialsOfTwoWorkers) {
  const ProbeEnding ending = Execute();
  ASSERT_TRUE(ending.plan);
  EXPECT_EQ(ending.plan->answer.safe_batch, 58);
  EXPECT_TRUE(ending.plan->verified);
  EXPECT_TRUE(ending.plan->predicted);
  EXPECT_EQ(ending.plan->recording_trials, 2);
  EXPECT_THAT(runner_->batches(), ElementsAre(8, 32, 58));
  EXPECT_EQ(trials_[0].purpose, TrialPurpose::kRecord);
  EXPECT_EQ(trials_[2].purpose, TrialPurpose::kVerify);
  EXPECT_FALSE(fall_back_);
  EXPECT_THAT(
      runner_->events(),
      ElementsAre("1 prepare", "2 prepare", "1 run 8", "1 run 32", "1 calls 1",
                  "1 calls 1", "1 end", "2 run 58", "2 end"));
}

TEST_F(FastExecutionTest, BisectsIfAsked) {
  spec_.method = SearchMethod::kBisect;
  const ProbeEnding ending = Execute();
  EXPECT_EQ(ending.plan->answer.safe_batch, 58);
  EXPECT_FALSE(ending.plan->predicted);
  EXPECT_THAT(runner_->events(), IsEmpty());
}

// What it takes alone is more than what the recordings let expect.
TEST_F(FastExecutionTest, KnowsWhatOperatorsTakeAtTheAnswer) {
  program_.scratch_until = 40;
  const ProbeEnding ending = Execute();
  EXPECT_EQ(ending.plan->answer.safe_batch, 60);  // 960 MiB / 16 MiB
  EXPECT_THAT(runner_->batches(), SizeIs(3));
}

// With 256 MiB outside the allocator, 768 MiB are left: 42. The second worker
// waits until the first has shown that.
TEST_F(FastExecutionTest, LearnsTheContextFromTheFirstRecording) {
  spec_.limit = {.cap = {}, .budget = GiB(1)};
  context_ = MiB(256);
  const ProbeEnding ending = Execute();
  ASSERT_TRUE(ending.plan);
  EXPECT_EQ(ending.plan->answer.safe_batch, 42);
  ASSERT_THAT(runner_->batches(), SizeIs(3));
  EXPECT_EQ(runner_->orders()[0].request.cap, GiB(1));
  EXPECT_EQ(runner_->orders()[2].request.cap, MiB(768));
  EXPECT_EQ(runner_->events()[1], "1 run 8");
}

TEST_F(FastExecutionTest, FallsBackToBisectionWithTheTrialsMade) {
  const ProbeEnding ending = Execute([this](const TrialOrder& order) {
    auto result = RunProgram(order);
    // Fails far below what is predicted, whatever is asked for.
    if (order.request.batch > 37) {
      return absl::StatusOr<TrialResult>(
          TrialResult{TrialThat(TrialOutcome::kOutOfMemory, "full"), {}});
    }
    return result;
  });
  ASSERT_TRUE(ending.plan);
  EXPECT_EQ(ending.plan->answer.safe_batch, 37);
  EXPECT_FALSE(ending.plan->predicted);
  EXPECT_THAT(ending.plan->fall_back_reason, Not(IsEmpty()));
  EXPECT_EQ(fall_back_, FallBackKind::kNotVerified);
  EXPECT_EQ(trials_[0].purpose, TrialPurpose::kRecord);
  EXPECT_EQ(ending.plan->trial_count, static_cast<int>(trials_.size()));
}

TEST_F(FastExecutionTest, FailsInsteadOfBisectingIfThatWasAsked) {
  spec_.method = SearchMethod::kPredict;
  const ProbeEnding ending =
      Execute(FakeTrialRunner::FitsUpTo(37));  // without traces
  EXPECT_EQ(ending.state, ProbeState::kFailed);
  ASSERT_TRUE(ending.error);
  EXPECT_EQ(ending.error->reason, "PREDICTION_DOES_NOT_HOLD");
  EXPECT_THAT(ending.error->message, HasSubstr("left no trace"));
  EXPECT_EQ(fall_back_, FallBackKind::kNotRecorded);
}

TEST_F(FastExecutionTest, RunsCallsAgainInANewWorkerIfTheFirstDies) {
  Make([this](const TrialOrder& order) { return RunProgram(order); });
  int rounds = 0;
  runner_->set_calls(
      [&](const gpu::RunCalls& order) -> absl::StatusOr<gpu::CallsReport> {
        if (++rounds == 1) return absl::UnavailableError("killed by signal 9");
        return RunConvolutions(order);
      });
  const ProbeEnding ending = ExecuteProbe(spec_, Tools());
  EXPECT_EQ(ending.plan->answer.safe_batch, 58);
  EXPECT_THAT(trials_, SizeIs(3));
  EXPECT_THAT(runner_->events(), Contains("3 calls 1"));
}

TEST_F(FastExecutionTest, GoesOnWithoutCallsThatCannotBeRun) {
  Make([this](const TrialOrder& order) { return RunProgram(order); });
  runner_->set_calls([](const gpu::RunCalls&) {
    return absl::StatusOr<gpu::CallsReport>(
        absl::UnavailableError("killed by signal 9"));
  });
  const ProbeEnding ending = ExecuteProbe(spec_, Tools());
  ASSERT_TRUE(ending.plan);
  EXPECT_EQ(ending.plan->answer.safe_batch, 58);
}

// More than any device has: it is not believed.
TEST_F(FastExecutionTest, FindsTheTruthWhateverAWorkerSaysOfCalls) {
  Make([this](const TrialOrder& order) { return RunProgram(order); });
  runner_->set_calls([](const gpu::RunCalls& order) {
    gpu::CallsReport report;
    for (size_t i = 0; i < order.calls.size(); ++i) {
      report.results.push_back({{{{0, int64_t{1} << 50}, {0, 0}}}, ""});
    }
    return absl::StatusOr<gpu::CallsReport>(report);
  });
  const ProbeEnding ending = ExecuteProbe(spec_, Tools());
  ASSERT_TRUE(ending.plan);
  EXPECT_EQ(ending.plan->answer.safe_batch, 58);
}

TEST_F(FastExecutionTest, TakesAFreshWorkerIfTheOneThatWaitedIsGone) {
  Make([this](const TrialOrder& order) { return RunProgram(order); });
  runner_->set_prepared([](int number) -> absl::StatusOr<PreparedWorker> {
    if (number == 2) return absl::UnavailableError("killed by signal 9");
    return PreparedWorker{{"Fake GPU", "1", "9"}, "2"};
  });
  const ProbeEnding ending = ExecuteProbe(spec_, Tools());
  EXPECT_EQ(ending.plan->answer.safe_batch, 58);
  EXPECT_THAT(trials_, SizeIs(3));
  EXPECT_THAT(runner_->events(), Contains("3 run 58"));
}

TEST_F(FastExecutionTest, GoesOnFromTrialsOfBefore) {
  ASSERT_TRUE(Execute().plan);
  const std::vector<Trial> before(trials_.begin(), trials_.begin() + 2);
  trials_.clear();
  Make([this](const TrialOrder& order) { return RunProgram(order); });
  ExecutionTools tools = Tools();
  tools.known = {before, "2"};
  const ProbeEnding ending = ExecuteProbe(spec_, tools);
  EXPECT_EQ(ending.plan->answer.safe_batch, 58);
  EXPECT_EQ(ending.plan->trial_count, 3);
  EXPECT_THAT(runner_->batches(), ElementsAre(58));
}

TEST_F(FastExecutionTest, BeginsAnewIfTheWorkerIsAnother) {
  ASSERT_TRUE(Execute().plan);
  const std::vector<Trial> before(trials_.begin(), trials_.begin() + 2);
  trials_.clear();
  Make([this](const TrialOrder& order) { return RunProgram(order); });
  ExecutionTools tools = Tools();
  tools.known = {before, "1"};
  const ProbeEnding ending = ExecuteProbe(spec_, tools);
  EXPECT_EQ(ending.plan->answer.safe_batch, 58);
  EXPECT_THAT(trials_, SizeIs(3));
}

TEST_F(FastExecutionTest, NeedsOneTrialWhereAnEarlierProbeRecorded) {
  traces_ = {{"/earlier/1", 8}, {"/earlier/2", 32}};
  Make([this](const TrialOrder& order) { return RunProgram(order); });
  ExecutionTools tools = Tools();
  tools.earlier_recordings = [] {
    return std::vector<EarlierRecording>{{8, "/earlier/1", "2", {}},
                                         {32, "/earlier/2", "2", {}}};
  };
  const ProbeEnding ending = ExecuteProbe(spec_, tools);
  EXPECT_EQ(ending.plan->answer.safe_batch, 58);
  EXPECT_THAT(runner_->batches(), ElementsAre(58));
}

TEST_F(FastExecutionTest, TakesNoRecordingOfAnotherWorker) {
  traces_ = {{"/earlier/1", 8}, {"/earlier/2", 32}};
  Make([this](const TrialOrder& order) { return RunProgram(order); });
  ExecutionTools tools = Tools();
  tools.earlier_recordings = [] {
    return std::vector<EarlierRecording>{{8, "/earlier/1", "1", {}},
                                         {32, "/earlier/2", "1", {}}};
  };
  (void)ExecuteProbe(spec_, tools);
  EXPECT_THAT(runner_->batches(), ElementsAre(8, 32, 58));
}

TEST_F(FastExecutionTest, EndsWhenCancelledInACall) {
  Make([this](const TrialOrder& order) { return RunProgram(order); });
  runner_->set_calls([this](const gpu::RunCalls&) {
    cancel_.Cancel();
    return absl::StatusOr<gpu::CallsReport>(absl::CancelledError("cancelled"));
  });
  EXPECT_EQ(ExecuteProbe(spec_, Tools()).state, ProbeState::kCancelled);
  EXPECT_EQ(runner_->events().back(), "2 killed");
}

TEST_F(FastExecutionTest, KeepsToTheMostTrials) {
  spec_.max_trials = 2;
  const ProbeEnding ending = Execute();
  ASSERT_TRUE(ending.error);
  EXPECT_EQ(ending.error->reason, "PROBE_TRIAL_LIMIT");
}

}  // namespace
}  // namespace memplan
