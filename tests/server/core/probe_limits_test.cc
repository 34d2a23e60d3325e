// What an execution does at the limits of its probe, and with trials of before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/jobs/probe_execution.h"
#include "tests/server/core/fake_trial_runner.h"

namespace memplan {
namespace {

using ::memplan::testing::FakeTrialRunner;
using ::memplan::testing::TrialThat;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ProbeLimitsTest : public ::testing::Test {
 protected:
  ProbeLimitsTest() {
    spec_.device_id = "GPU-1";
    spec_.task = SearchOptions{2, 100, 1};
  }

  // Each trial takes `trial_length_` of the clock.
  ProbeEnding Execute(FakeTrialRunner::Outcome outcome) {
    runner_.emplace([this, outcome](const TrialOrder& order) {
      now_ += trial_length_;
      auto result = outcome(order);
      if (result.ok() && result->worker_version.empty()) {
        result->worker_version = "2.7";
      }
      return result;
    });
    return ExecuteProbe(
        spec_,
        {.runner = *runner_,
         .cancel = cancel_,
         .model_path = "",
         .trace_path = [](int) { return std::string(); },
         .on_progress = [](const ProbeProgress&) {},
         .on_trial =
             [this](const Trial& trial, const std::string& version) {
               trials_.push_back(trial);
               version_ = version;
             },
         .known = known_,
         .may_go_on =
             [this] { return static_cast<int>(trials_.size()) < stop_after_; },
         .pause =
             [this](milliseconds length) {
               pauses_.push_back(length.count());
               return true;
             },
         .on_begin_anew =
             [this](std::string why) { begun_anew_ = std::move(why); },
         .patience = {.first_pause = milliseconds(10), .most_deaths = 3},
         .starts = &starts_,
         .now = [this] { return now_; }});
  }

  ProbeSpec spec_;
  KnownTrials known_;
  int stop_after_ = 1000;
  seconds trial_length_{1};
  steady_clock::time_point now_{seconds(1000)};
  WorkerStarts starts_{WorkerPatience{.most_failed_starts = 3}};
  std::optional<FakeTrialRunner> runner_;
  CancelSignal cancel_;
  std::vector<Trial> trials_;
  std::vector<int64_t> pauses_;  // milliseconds
  std::string version_;
  std::string begun_anew_;
};

TEST_F(ProbeLimitsTest, EndsAfterTheLastTrialItMayRun) {
  spec_.max_trials = 3;
  const ProbeEnding ending = Execute(FakeTrialRunner::FitsUpTo(5));
  EXPECT_EQ(ending.state, ProbeState::kFailed);
  EXPECT_EQ(ending.error->reason, "PROBE_TRIAL_LIMIT");
  EXPECT_THAT(ending.error->message,
              HasSubstr("of 3 trials, the largest batch that ran is 4, the "
                        "smallest that failed 8"));
  EXPECT_THAT(runner_->batches(), ElementsAre(2, 4, 8));
}

TEST_F(ProbeLimitsTest, AnAnswerInTheLastTrialIsOne) {
  spec_.task = ProfileTask{{1, 2}};
  spec_.max_trials = 2;
  EXPECT_EQ(Execute(FakeTrialRunner::FitsUpTo(5)).state,
            ProbeState::kSucceeded);
}

TEST_F(ProbeLimitsTest, EndsWhenItsTimeIsOver) {
  spec_.time_limit = milliseconds(2500);
  const ProbeEnding ending = Execute(FakeTrialRunner::FitsUpTo(5));
  EXPECT_EQ(ending.error->reason, "PROBE_TIME_LIMIT");
  EXPECT_THAT(trials_, SizeIs(3));
  EXPECT_EQ(runner_->orders()[0].timeout, milliseconds(2500));
  EXPECT_EQ(runner_->orders()[2].timeout, milliseconds(500));
}

TEST_F(ProbeLimitsTest, ATrialThatItCutOffIsNotKept) {
  spec_.time_limit = seconds(5);
  const ProbeEnding ending =
      Execute(FakeTrialRunner::Always(TrialOutcome::kTimedOut));
  EXPECT_EQ(ending.error->reason, "PROBE_TIME_LIMIT");
  EXPECT_THAT(trials_, IsEmpty());
}

TEST_F(ProbeLimitsTest, CountsTheTimeOfTheTrialsOfBefore) {
  spec_.time_limit = seconds(10);
  known_.trials.push_back(TrialThat(TrialOutcome::kFits));
  known_.trials[0].batch = 2;
  known_.trials[0].seconds = 9.5;
  EXPECT_EQ(Execute(FakeTrialRunner::FitsUpTo(5)).error->reason,
            "PROBE_TIME_LIMIT");
  EXPECT_EQ(runner_->orders()[0].timeout, milliseconds(500));
}

TEST_F(ProbeLimitsTest, PassesTheNicenessOn) {
  spec_.niceness = 7;
  Execute(FakeTrialRunner::FitsUpTo(5));
  EXPECT_EQ(runner_->orders()[0].niceness, 7);
}

TEST_F(ProbeLimitsTest, WaitsLongerAfterEachDeathAndThenGivesUp) {
  spec_.task = SearchOptions{8, 100, 1};
  const ProbeEnding ending =
      Execute(FakeTrialRunner::Always(TrialOutcome::kWorkerDied, "segfault"));
  EXPECT_EQ(ending.state, ProbeState::kFailed);
  EXPECT_EQ(ending.error->reason, "WORKER_KEEPS_DYING");
  EXPECT_THAT(ending.error->message, HasSubstr("segfault"));
  EXPECT_THAT(trials_, SizeIs(3));
  EXPECT_THAT(pauses_, ElementsAre(10, 20));
}

TEST_F(ProbeLimitsTest, GivesUpWhenNoWorkerStarts) {
  const ProbeEnding ending =
      Execute([](const TrialOrder&) -> absl::StatusOr<TrialResult> {
        TrialResult result;
        result.trial = TrialThat(TrialOutcome::kWorkerDied, "no hello");
        result.never_started = true;
        return result;
      });
  EXPECT_EQ(ending.error->reason, "WORKER_KEEPS_DYING");
  EXPECT_THAT(ending.error->message, HasSubstr("could not be started"));
  EXPECT_THAT(trials_, SizeIs(3));
}

// A search cut anywhere ends as one that was not, and runs no trial twice.
TEST_F(ProbeLimitsTest, GoesOnFromWhereverItWasCut) {
  Execute(FakeTrialRunner::FitsUpTo(5));
  const std::vector<int64_t> whole = runner_->batches();
  for (int cut = 1; cut < static_cast<int>(whole.size()); ++cut) {
    trials_.clear();
    known_ = {};
    stop_after_ = cut;
    EXPECT_EQ(Execute(FakeTrialRunner::FitsUpTo(5)).state,
              ProbeState::kCancelled);
    std::vector<int64_t> batches = runner_->batches();
    known_ = {trials_, version_};
    stop_after_ = 1000;
    const ProbeEnding ending = Execute(FakeTrialRunner::FitsUpTo(5));
    EXPECT_EQ(ending.plan->answer.safe_batch, 5);
    for (const int64_t batch : runner_->batches()) batches.push_back(batch);
    EXPECT_EQ(batches, whole);
    EXPECT_EQ(begun_anew_, "");
  }
}

TEST_F(ProbeLimitsTest, GoesOnInAProfileWhoseWorkerDied) {
  spec_.task = ProfileTask{{4, 4, 8}};
  known_ = {{TrialThat(TrialOutcome::kWorkerDied)}, "2.7"};
  known_.trials[0].batch = 4;
  Execute(FakeTrialRunner::FitsUpTo(9));
  EXPECT_THAT(runner_->batches(), ElementsAre(4, 4, 8));
}

TEST_F(ProbeLimitsTest, BeginsAnewIfTheWorkerIsAnother) {
  spec_.task = ProfileTask{{1, 2}};
  spec_.limit.budget = GiB(1);
  known_ = {{TrialThat(TrialOutcome::kFits), TrialThat(TrialOutcome::kFits)},
            "2.6"};
  known_.trials[0].purpose = TrialPurpose::kCalibrate;
  const ProbeEnding ending = Execute(FakeTrialRunner::FitsUpTo(5));
  EXPECT_EQ(ending.state, ProbeState::kSucceeded);
  EXPECT_THAT(begun_anew_, HasSubstr("libtorch 2.7 now"));
  EXPECT_THAT(begun_anew_, HasSubstr("2.6"));
  EXPECT_THAT(runner_->batches(), ElementsAre(2, 1, 1, 2));
  EXPECT_THAT(trials_, SizeIs(3));
}

}  // namespace
}  // namespace memplan
