// Searches on a device that has room for two workers at one time: what is done
// beside something else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

#include "tests/server/core/fast_execution_fixture.h"

namespace memplan {
namespace {

using ::memplan::testing::TrialThat;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::SizeIs;

class FastOverlapTest : public ::memplan::testing::FastExecutionFixture {
 protected:
  FastOverlapTest() {
    Make([this](const TrialOrder& order) { return RunProgram(order); });
    runner_->set_progress({{"load", 0}, {"step", 0}, {"report", kSteps}});
  }

  // Calls are answered by `second` from the second order on.
  using Calls = testing::FakeTrialRunner::Calls;
  void SetSecondCalls(Calls second) {
    runner_->set_calls(
        [this, second = std::move(second)](
            const gpu::RunCalls& order) -> absl::StatusOr<gpu::CallsReport> {
          if (++call_orders_ == 1) return RunConvolutions(order);
          return second(order);
        });
  }
  // Waits until the verifying run is under way.
  Calls BesideTheThirdRun() {
    return [this](const gpu::RunCalls& order) {
      runner_->WaitForOrders(3);
      return absl::StatusOr<gpu::CallsReport>(RunConvolutions(order));
    };
  }
  ProbeEnding ExecuteWithRoom() {
    ExecutionTools tools = Tools();
    tools.workers_at_once = workers_at_once_;
    tools.on_trial = [this](const Trial& trial, const std::string&) {
      trials_.push_back(trial);
      events_of_trials_.push_back(runner_->events());
    };
    return ExecuteProbe(spec_, tools);
  }

  std::vector<int64_t> BatchesOfTrials() const {
    std::vector<int64_t> batches;
    for (const Trial& trial : trials_) batches.push_back(trial.batch);
    return batches;
  }

  int workers_at_once_ = 2;
  int call_orders_ = 0;
  // What had happened when each trial was told.
  std::vector<std::vector<std::string>> events_of_trials_;
};

TEST_F(FastOverlapTest, VerifiesWhileTheLastOperatorsAreRun) {
  SetSecondCalls(BesideTheThirdRun());
  const ProbeEnding ending = ExecuteWithRoom();
  ASSERT_TRUE(ending.plan);
  EXPECT_EQ(ending.plan->answer.safe_batch, 58);
  EXPECT_TRUE(ending.plan->verified);
  EXPECT_THAT(BatchesOfTrials(), ElementsAre(8, 32, 58));
  EXPECT_EQ(trials_[2].purpose, TrialPurpose::kVerify);
  EXPECT_EQ(call_orders_, 2);
  // What the verifying worker held was read when it was alone.
  EXPECT_THAT(events_of_trials_[2],
              AllOf(Contains("1 end"), Contains("2 run 58")));
  EXPECT_EQ(runner_->events().back(), "2 end");
}

TEST_F(FastOverlapTest, BothRecordingsAreMadeAtTheSameTime) {
  Make([this](const TrialOrder& order) {
    // Neither ends before the other has begun.
    if (order.request.batch <= 32) runner_->WaitForOrders(2);
    return RunProgram(order);
  });
  const ProbeEnding ending = ExecuteWithRoom();
  ASSERT_TRUE(ending.plan);
  EXPECT_EQ(ending.plan->answer.safe_batch, 58);
  EXPECT_THAT(BatchesOfTrials(), ElementsAre(8, 32, 58));
  EXPECT_EQ(trials_[1].purpose, TrialPurpose::kRecord);
  EXPECT_EQ(trials_[1].cap, MiB(768));  // under which it was recorded
  EXPECT_EQ(trials_[2].cap, GiB(1));
  EXPECT_THAT(runner_->events(),
              AllOf(Contains("1 prepare"), Contains("1 run 8"),
                    Contains("2 run 32"), Contains("2 prepare"),
                    Contains("2 run 58"), Not(Contains("1 run 32"))));
}

TEST_F(FastOverlapTest, ARecordingThatWasRefusedMemoryIsMadeOnceMore) {
  Make([this](const TrialOrder& order) -> absl::StatusOr<TrialResult> {
    if (order.request.cap == GiB(1)) return RunProgram(order);
    return TrialResult{TrialThat(TrialOutcome::kOutOfMemory, "full"), {}};
  });
  const ProbeEnding ending = ExecuteWithRoom();
  ASSERT_TRUE(ending.plan);
  EXPECT_EQ(ending.plan->answer.safe_batch, 58);
  EXPECT_THAT(BatchesOfTrials(), ElementsAre(8, 32, 58));
  EXPECT_EQ(trials_[1].cap, GiB(1));
  EXPECT_THAT(runner_->events(),
              AllOf(Contains("2 run 32"), Contains("1 run 32")));
}

// A convolution that went on without the scratch it was refused.
TEST_F(FastOverlapTest, ARecordingThatWentOnWithoutMemoryIsMadeOnceMore) {
  Make([this](const TrialOrder& order) {
    auto result = RunProgram(order);
    if (order.request.cap < GiB(1)) result->trial.steps[1].failed_requests = 1;
    return result;
  });
  ASSERT_TRUE(ExecuteWithRoom().plan);
  EXPECT_THAT(BatchesOfTrials(), ElementsAre(8, 32, 58));
  EXPECT_EQ(trials_[1].cap, GiB(1));
}

// 64 MiB + 20 · 16 MiB + 32 MiB are too many for 32 as well.
TEST_F(FastOverlapTest, WhatWasRecordedAheadIsNoTrialIfAnotherBatchIsWanted) {
  spec_.limit.cap = MiB(416);
  Make([this](const TrialOrder& order) {
    // It would else write its trace where that of the second trial lies.
    if (order.request.batch == 32) runner_->WaitForInterrupt(2);
    return RunProgram(order);
  });
  const ProbeEnding ending = ExecuteWithRoom();
  ASSERT_TRUE(ending.plan);
  EXPECT_EQ(ending.plan->answer.safe_batch, 20);
  EXPECT_THAT(runner_->events(), Contains("2 run 32"));
  for (const Trial& trial : trials_) {
    EXPECT_EQ(trial.outcome, TrialOutcome::kFits) << trial.batch;
    EXPECT_LE(trial.batch, 20);
  }
}

TEST_F(FastOverlapTest, ARecordingAheadIsGivenUpWithTheFirst) {
  Make([this](const TrialOrder& order) -> absl::StatusOr<TrialResult> {
    if (order.request.batch == 32) {
      runner_->WaitForInterrupt(2);
    } else {
      runner_->WaitForOrders(2);
    }
    TrialResult result{TrialThat(TrialOutcome::kOutOfMemory, "full"), {}};
    result.trial.steps.resize(1);
    result.trial.steps[0].failed_requests = 1;
    return result;
  });
  const ProbeEnding ending = ExecuteWithRoom();
  ASSERT_TRUE(ending.plan);
  EXPECT_EQ(ending.plan->answer.end, SearchEnd::kDoesNotFit);
  EXPECT_THAT(BatchesOfTrials(), ElementsAre(8, 1));
  EXPECT_THAT(runner_->events(), Contains("2 interrupted"));
}

TEST_F(FastOverlapTest, AWorkerThatDiesAheadIsNobodysTrial) {
  Make([this](const TrialOrder& order) -> absl::StatusOr<TrialResult> {
    if (order.request.cap == GiB(1)) return RunProgram(order);
    return TrialResult{TrialThat(TrialOutcome::kWorkerDied), {}};
  });
  const ProbeEnding ending = ExecuteWithRoom();
  ASSERT_TRUE(ending.plan);
  EXPECT_EQ(ending.plan->answer.safe_batch, 58);
  EXPECT_THAT(BatchesOfTrials(), ElementsAre(8, 32, 58));
}

// With a budget it is not known yet what a second worker takes.
TEST_F(FastOverlapTest, UnderABudgetNothingIsRecordedAhead) {
  spec_.limit = {.cap = {}, .budget = GiB(1)};
  context_ = MiB(32);
  ASSERT_TRUE(ExecuteWithRoom().plan);
  EXPECT_THAT(runner_->events(),
              AllOf(Contains("1 run 8"), Contains("1 run 32")));
}

TEST_F(FastOverlapTest, HelpersAreThereWhereThereIsRoomAndGoneInTheEnd) {
  workers_at_once_ = 4;
  const ProbeEnding ending = ExecuteWithRoom();
  ASSERT_TRUE(ending.plan);
  EXPECT_EQ(ending.plan->answer.safe_batch, 58);
  EXPECT_THAT(runner_->events(), AllOf(Contains("3 open libraries"),
                                       Contains("4 open libraries")));
  // None of them held memory when the verifying worker's was read.
  EXPECT_THAT(events_of_trials_[2],
              AllOf(Contains("3 end"), Contains("4 end")));
}

TEST_F(FastOverlapTest, HelpersStartDuringTheFirstRecording) {
  workers_at_once_ = 3;
  Make([this](const TrialOrder& order) {
    if (order.request.batch == 8) {
      const auto events = runner_->events();
      EXPECT_THAT(events, Contains("3 open libraries"));
    }
    return RunProgram(order);
  });
  runner_->set_progress({{"load", 0}, {"step", 0}, {"report", kSteps}});
  ASSERT_TRUE(ExecuteWithRoom().plan);
}

// What ran before there would not be run as for the first time.
TEST_F(FastOverlapTest, ABatchIsNotVerifiedWhereItWasRecorded) {
  std::get<SearchOptions>(spec_.task).max_batch = 8;
  const ProbeEnding ending = ExecuteWithRoom();
  ASSERT_TRUE(ending.plan);
  EXPECT_EQ(ending.plan->answer.safe_batch, 8);
  EXPECT_THAT(runner_->events(),
              AllOf(Contains("1 run 5"), Contains("2 run 8"),
                    Contains("3 prepare"), Contains("3 run 8")));
}

TEST_F(FastOverlapTest, RunsOneAfterTheOtherWhereCudnnChoosesByTheClock) {
  spec_.step.cudnn_benchmark = true;
  ASSERT_TRUE(ExecuteWithRoom().plan);
  EXPECT_THAT(runner_->events(),
              AllOf(Contains("1 calls 1").Times(2), Contains("2 prepare"),
                    Contains("2 run 58")));
  EXPECT_THAT(events_of_trials_[1], Not(Contains("2 run 58")));
}

// 960 MiB / 16 MiB: without scratch above 40, which only the operators show.
TEST_F(FastOverlapTest, FindsTheAnswerThatTheOperatorsShow) {
  program_.scratch_until = 40;
  const ProbeEnding ending = ExecuteWithRoom();
  ASSERT_TRUE(ending.plan);
  EXPECT_EQ(ending.plan->answer.safe_batch, 60);
}

TEST_F(FastOverlapTest, RunsTheOperatorsLaterIfTheirWorkerDies) {
  SetSecondCalls(
      [this](const gpu::RunCalls& order) -> absl::StatusOr<gpu::CallsReport> {
        if (call_orders_ == 2)
          return absl::UnavailableError("killed by signal 9");
        return RunConvolutions(order);
      });
  const ProbeEnding ending = ExecuteWithRoom();
  ASSERT_TRUE(ending.plan);
  EXPECT_EQ(ending.plan->answer.safe_batch, 58);
  EXPECT_THAT(trials_, SizeIs(3));
  EXPECT_THAT(runner_->events(), Contains("2 calls 1"));
}

TEST_F(FastOverlapTest, EndsWhenCancelledWithBothAtWork) {
  SetSecondCalls([this](const gpu::RunCalls&) {
    runner_->WaitForOrders(3);
    cancel_.Cancel();
    return absl::StatusOr<gpu::CallsReport>(absl::CancelledError("cancelled"));
  });
  EXPECT_EQ(ExecuteWithRoom().state, ProbeState::kCancelled);
  EXPECT_THAT(trials_, SizeIs(2));
}

TEST_F(FastOverlapTest, TellsTheAnswerBeforeItsWorkersAreGone) {
  std::promise<void> told;
  runner_->set_on_end([held = told.get_future().share()](int number) {
    if (number == 2) held.wait();
  });
  Dismissals dismissals;
  ExecutionTools tools = Tools();
  tools.dismissals = &dismissals;
  const ProbeEnding ending = ExecuteProbe(spec_, tools);
  EXPECT_TRUE(ending.plan);
  EXPECT_THAT(runner_->events(), Not(Contains("2 end")));
  told.set_value();
  dismissals.Wait();
  EXPECT_EQ(runner_->events().back(), "2 end");
}

}  // namespace
}  // namespace memplan
