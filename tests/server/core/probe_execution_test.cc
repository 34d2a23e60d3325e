#include "server/jobs/probe_execution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "server/base/reason.h"
#include "server/jobs/probe_trials.h"
#include "tests/server/core/fake_trial_runner.h"

namespace memplan {
namespace {

using ::memplan::testing::FakeTrialRunner;
using ::memplan::testing::TrialThat;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ExecuteProbeTest : public ::testing::Test {
 protected:
  ProbeEnding Execute(const FakeTrialRunner::Outcome& outcome) {
    runner_.emplace(outcome);
    return Execute();
  }
  ProbeEnding Execute() {
    return ExecuteProbe(
        spec_, {.runner = *runner_,
                .cancel = cancel_,
                .model_path = "/models/m",
                .loss_path = "/models/l",
                .trace_path =
                    [](int number) { return absl::StrCat("/traces/", number); },
                .on_progress =
                    [this](const ProbeProgress& progress) {
                      progress_.push_back(progress);
                    },
                .on_trial =
                    [this](const Trial& trial, const std::string& /*version*/) {
                      trials_.push_back(trial);
                    }});
  }

  void SearchFrom(int64_t first_batch, int64_t max_batch) {
    spec_.task = SearchOptions{first_batch, max_batch, 1};
  }
  void Profile(std::vector<int64_t> batches) {
    spec_.task = ProfileTask{std::move(batches)};
  }

  ProbeSpec spec_ = [] {
    ProbeSpec spec;
    spec.device_id = "GPU-1";
    spec.task = SearchOptions{};
    return spec;
  }();
  std::optional<FakeTrialRunner> runner_;
  CancelSignal cancel_;
  std::vector<ProbeProgress> progress_;
  std::vector<Trial> trials_;
};

TEST_F(ExecuteProbeTest, SearchesUntilTheAnswerIsVerified) {
  SearchFrom(2, 100);
  const ProbeEnding ending = Execute(FakeTrialRunner::FitsUpTo(5));
  EXPECT_EQ(ending.state, ProbeState::kSucceeded);
  ASSERT_TRUE(ending.plan);
  EXPECT_EQ(ending.plan->answer.end, SearchEnd::kFound);
  EXPECT_EQ(ending.plan->answer.safe_batch, 5);
  EXPECT_TRUE(ending.plan->verified);
  EXPECT_EQ(ending.plan->trial_count, static_cast<int>(trials_.size()));
  EXPECT_EQ(trials_.back().purpose, TrialPurpose::kVerify);
  EXPECT_FALSE(ending.error);
}

TEST_F(ExecuteProbeTest, SucceedsWithAPlanThatSaysNothingFits) {
  SearchFrom(8, 100);
  const ProbeEnding ending = Execute(FakeTrialRunner::FitsUpTo(0));
  EXPECT_EQ(ending.state, ProbeState::kSucceeded);
  ASSERT_TRUE(ending.plan);
  EXPECT_EQ(ending.plan->answer.end, SearchEnd::kDoesNotFit);
  EXPECT_THAT(runner_->batches(), ElementsAre(8, 1));
}

TEST_F(ExecuteProbeTest, SucceedsWithAPlanThatSaysTheBatchIsFixed) {
  SearchFrom(8, 100);
  const ProbeEnding ending = Execute([](const TrialOrder& order) {
    return TrialResult{order.request.batch == 2
                           ? TrialThat(TrialOutcome::kFits)
                           : [] {
                               Trial trial = TrialThat(
                                   TrialOutcome::kShapeRefused, "batch is 2");
                               trial.traced_batch = 2;
                               return trial;
                             }(),
                       std::nullopt};
  });
  EXPECT_EQ(ending.state, ProbeState::kSucceeded);
  ASSERT_TRUE(ending.plan);
  EXPECT_EQ(ending.plan->answer.end, SearchEnd::kFixedBatch);
  EXPECT_EQ(ending.plan->answer.safe_batch, 2);
}

TEST_F(ExecuteProbeTest, ProfilesTheBatchesInTheirOrderWhateverTheyShow) {
  Profile({4, 2, 8, 2});
  const ProbeEnding ending = Execute(FakeTrialRunner::FitsUpTo(3));
  EXPECT_EQ(ending.state, ProbeState::kSucceeded);
  EXPECT_FALSE(ending.plan);
  EXPECT_THAT(runner_->batches(), ElementsAre(4, 2, 8, 2));
  EXPECT_EQ(trials_[0].outcome, TrialOutcome::kOutOfMemory);
  EXPECT_EQ(trials_[1].outcome, TrialOutcome::kFits);
  EXPECT_EQ(trials_[0].purpose, TrialPurpose::kProfile);
}

TEST_F(ExecuteProbeTest, ProfilesABatchOnceMoreIfItsWorkerDied) {
  Profile({4, 8});
  int runs = 0;
  const ProbeEnding ending = Execute([&runs](const TrialOrder&) {
    return TrialResult{TrialThat(++runs == 1 ? TrialOutcome::kWorkerDied
                                             : TrialOutcome::kFits),
                       std::nullopt};
  });
  EXPECT_EQ(ending.state, ProbeState::kSucceeded);
  EXPECT_THAT(runner_->batches(), ElementsAre(4, 4, 8));
}

TEST_F(ExecuteProbeTest, ProfilesABatchAtMostTwice) {
  Profile({4, 8});
  EXPECT_EQ(Execute(FakeTrialRunner::Always(TrialOutcome::kWorkerDied)).state,
            ProbeState::kSucceeded);
  EXPECT_THAT(runner_->batches(), ElementsAre(4, 4, 8, 8));
}

TEST_F(ExecuteProbeTest, OrdersWhatTheSpecSays) {
  spec_.inputs = {{DType::kFloat32, {{"B", 1}}, {}}};
  spec_.dimensions = {{"T", 7}};
  spec_.mode = gpu::Mode::kTrain;
  spec_.optimizer = gpu::Optimizer::kAdam;
  spec_.run_as = gpu::RunAs::kEager;
  spec_.steps = 3;
  spec_.step.autocast = gpu::Autocast::kBFloat16;
  spec_.step.also_batches = {3};
  spec_.limit.cap = GiB(1);
  spec_.trial_timeout = std::chrono::seconds(9);
  Profile({4});
  Execute(FakeTrialRunner::FitsUpTo(9));
  ASSERT_THAT(runner_->orders(), SizeIs(1));
  const TrialOrder order = runner_->orders()[0];
  EXPECT_EQ(order.device_id, "GPU-1");
  EXPECT_EQ(order.purpose, TrialPurpose::kProfile);
  EXPECT_EQ(order.timeout, std::chrono::seconds(9));
  EXPECT_EQ(order.trace_path, "/traces/1");
  EXPECT_EQ(order.request.model_path, "/models/m");
  EXPECT_EQ(order.request.device, gpu::DeviceKind::kCuda);
  EXPECT_EQ(order.request.inputs, spec_.inputs);
  EXPECT_EQ(order.request.dimensions, spec_.dimensions);
  EXPECT_EQ(order.request.batch, 4);
  EXPECT_EQ(order.request.mode, gpu::Mode::kTrain);
  EXPECT_EQ(order.request.optimizer, gpu::Optimizer::kAdam);
  EXPECT_EQ(order.request.run_as, gpu::RunAs::kEager);
  EXPECT_EQ(order.request.steps, 3);
  EXPECT_EQ(order.request.options, spec_.step);
  EXPECT_EQ(order.request.loss_path, "/models/l");
  // Three steps, one of batch 3, and one more.
  ASSERT_FALSE(progress_.empty());
  EXPECT_EQ(progress_[0].steps_total, 5);
  EXPECT_EQ(order.request.cap, GiB(1));
}

TEST_F(ExecuteProbeTest, NeedsNoContextOnTheCpuDevice) {
  spec_.device_id = "cpu";
  spec_.limit.budget = GiB(1);
  Profile({4});
  Execute(FakeTrialRunner::FitsUpTo(9));
  ASSERT_THAT(runner_->orders(), SizeIs(1));
  EXPECT_EQ(runner_->orders()[0].request.device, gpu::DeviceKind::kCpu);
  EXPECT_EQ(runner_->orders()[0].request.cap, GiB(1));
}

// 20 GiB for the whole process, of which 1 GiB is context: the allocator may take
// 20 GiB at first, when the context is not known, and 19 GiB from then on.
TEST_F(ExecuteProbeTest, LearnsTheContextFirstWhenThereIsABudget) {
  spec_.limit.budget = GiB(20);
  Profile({4});
  Execute([](const TrialOrder&) {
    Trial trial = TrialThat(TrialOutcome::kFits);
    trial.context = GiB(1);
    return TrialResult{trial, std::nullopt};
  });
  const auto orders = runner_->orders();
  ASSERT_THAT(orders, SizeIs(2));
  EXPECT_EQ(orders[0].request.batch, 4);
  EXPECT_EQ(orders[0].purpose, TrialPurpose::kCalibrate);
  EXPECT_EQ(orders[0].request.cap, GiB(20));
  EXPECT_EQ(orders[1].request.batch, 4);
  EXPECT_EQ(orders[1].request.cap, GiB(19));
}

TEST_F(ExecuteProbeTest, CountsATrialAboveTheBudgetAsOutOfMemory) {
  spec_.limit.budget = GiB(20);
  Profile({4});
  Execute([](const TrialOrder&) {
    Trial trial = TrialThat(TrialOutcome::kFits);
    trial.context = GiB(1);
    trial.steps[0].peaks.reserved = GiB(19) + Bytes(1);
    return TrialResult{trial, std::nullopt};
  });
  EXPECT_EQ(trials_.back().outcome, TrialOutcome::kOutOfMemory);
}

TEST_F(ExecuteProbeTest, FailsIfTheRequestDoesNotGoWithTheModel) {
  const ProbeEnding ending = Execute([](const TrialOrder&) {
    return TrialResult{{}, RequestRefused{"inputs", "forward takes 2 inputs"}};
  });
  EXPECT_EQ(ending.state, ProbeState::kFailed);
  ASSERT_TRUE(ending.error);
  EXPECT_EQ(ending.error->code, absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ending.error->reason, "REQUEST_REFUSED_BY_MODEL");
  EXPECT_EQ(ending.error->field, "spec.inputs");
  EXPECT_EQ(ending.error->message, "forward takes 2 inputs");
  EXPECT_THAT(trials_, SizeIs(0));
}

TEST_F(ExecuteProbeTest, FailsWithTheRunnersError) {
  const ProbeEnding ending = Execute([](const TrialOrder&) {
    return WithReason(absl::FailedPreconditionError("no worker at /x"),
                      "WORKER_UNUSABLE");
  });
  EXPECT_EQ(ending.state, ProbeState::kFailed);
  ASSERT_TRUE(ending.error);
  EXPECT_EQ(ending.error->code, absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ending.error->reason, "WORKER_UNUSABLE");
  EXPECT_EQ(ending.error->message, "no worker at /x");
}

struct FailureCase {
  std::string name;
  TrialOutcome outcome;
  absl::StatusCode code;
  std::string reason;
};

class ExecuteFailingSearchTest
    : public ExecuteProbeTest,
      public ::testing::WithParamInterface<FailureCase> {};

TEST_P(ExecuteFailingSearchTest, FailsWithTheReasonAndTheWords) {
  const ProbeEnding ending =
      Execute(FakeTrialRunner::Always(GetParam().outcome, "its own words"));
  EXPECT_EQ(ending.state, ProbeState::kFailed);
  EXPECT_FALSE(ending.plan);
  ASSERT_TRUE(ending.error);
  EXPECT_EQ(ending.error->code, GetParam().code);
  EXPECT_EQ(ending.error->reason, GetParam().reason);
  EXPECT_THAT(ending.error->message, HasSubstr("its own words"));
}

INSTANTIATE_TEST_SUITE_P(
    Outcomes, ExecuteFailingSearchTest,
    ::testing::ValuesIn<FailureCase>({
        {"ModelFailed", TrialOutcome::kModelFailed,
         absl::StatusCode::kFailedPrecondition, "MODEL_FAILED"},
        {"TimedOut", TrialOutcome::kTimedOut,
         absl::StatusCode::kDeadlineExceeded, "TRIAL_TIMED_OUT"},
        {"WorkerDied", TrialOutcome::kWorkerDied, absl::StatusCode::kInternal,
         "WORKER_DIED"},
    }),
    [](const auto& test) { return test.param.name; });

TEST_F(ExecuteProbeTest, GoesOnAfterAWorkerThatDiedOnce) {
  SearchFrom(2, 4);
  int runs = 0;
  const ProbeEnding ending = Execute([&runs](const TrialOrder&) {
    const bool dies = ++runs == 2;
    return TrialResult{
        TrialThat(dies ? TrialOutcome::kWorkerDied : TrialOutcome::kFits,
                  dies ? "killed by signal 9" : ""),
        std::nullopt};
  });
  EXPECT_EQ(ending.state, ProbeState::kSucceeded);
  EXPECT_EQ(ending.plan->answer.safe_batch, 4);
}

TEST_F(ExecuteProbeTest, RunsNothingOnceCancelled) {
  cancel_.Cancel();
  EXPECT_EQ(Execute(FakeTrialRunner::FitsUpTo(5)).state,
            ProbeState::kCancelled);
  EXPECT_THAT(runner_->batches(), SizeIs(0));
}

TEST_F(ExecuteProbeTest, EndsWhenCancelledBetweenTwoTrials) {
  Profile({1, 2, 3});
  const ProbeEnding ending = Execute([this](const TrialOrder& order) {
    if (order.request.batch == 2) cancel_.Cancel();
    return TrialResult{TrialThat(TrialOutcome::kFits), std::nullopt};
  });
  EXPECT_EQ(ending.state, ProbeState::kCancelled);
  EXPECT_THAT(trials_, SizeIs(2));
}

TEST_F(ExecuteProbeTest, TellsWhatItDoesAtEachMoment) {
  Profile({4, 9, 6});
  spec_.steps = 2;
  runner_.emplace(FakeTrialRunner::FitsUpTo(5));
  runner_->set_progress({{"load", 0}, {"step", 1}, {"step", 99}});
  Execute();
  ASSERT_THAT(progress_, SizeIs(12));
  EXPECT_EQ(progress_[0].trial_number, 1);
  EXPECT_EQ(progress_[0].batch, 4);
  EXPECT_EQ(progress_[0].phase, "start");
  EXPECT_EQ(progress_[0].steps_total, 2);
  EXPECT_EQ(progress_[0].largest_running_batch, 0);
  EXPECT_EQ(progress_[0].smallest_failing_batch, 0);
  EXPECT_EQ(progress_[1].phase, "load");
  EXPECT_EQ(progress_[2].phase, "step");
  EXPECT_EQ(progress_[2].steps_done, 1);
  EXPECT_EQ(progress_[3].steps_done, 2) << "never more than there are";
  EXPECT_EQ(progress_[4].largest_running_batch, 4);
  EXPECT_EQ(progress_[8].trial_number, 3);
  EXPECT_EQ(progress_[8].largest_running_batch, 4);
  EXPECT_EQ(progress_[8].smallest_failing_batch, 9);
}

TEST(ToProbeErrorTest, KeepsCodeReasonWordsAndField) {
  const ProbeError error = ToProbeError(
      WithReason(absl::NotFoundError("gone"), "MODEL_NOT_FOUND", "spec.x"));
  EXPECT_EQ(error.code, absl::StatusCode::kNotFound);
  EXPECT_EQ(error.reason, "MODEL_NOT_FOUND");
  EXPECT_EQ(error.message, "gone");
  EXPECT_EQ(error.field, "spec.x");
  EXPECT_EQ(ToProbeError(absl::InternalError("")).reason, "INTERNAL_ERROR");
}

}  // namespace
}  // namespace memplan
