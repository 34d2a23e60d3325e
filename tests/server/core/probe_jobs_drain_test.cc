// The daemon's orderly end: what may end ends, the rest goes on later.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "server/base/reason.h"
#include "tests/server/core/probe_jobs_fixture.h"

namespace memplan {
namespace {

using ::memplan::testing::FakeTrialRunner;
using ::memplan::testing::IsOk;
using ::memplan::testing::TrialThat;
using std::chrono::hours;
using std::chrono::steady_clock;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class DrainTest : public ::memplan::testing::ProbeJobsFixture {};

TEST_F(DrainTest, LetsTheRunningTrialEndAndStartsNoOther) {
  StartHolding();
  const std::string id = CreateId(Profile({1, 2}));
  const std::string queued = CreateId(Profile({3}));
  WaitForTrial(id, 1);
  std::thread draining([&] { jobs_->Drain(steady_clock::now() + hours(1)); });
  // Refused from the moment the drain begins.
  while (Create(Profile({1})).ok()) std::this_thread::yield();
  runner_->LetGo(100);
  draining.join();
  EXPECT_THAT(runner_->batches(), ElementsAre(1));
  EXPECT_EQ(store_.Kept(id).state, ProbeState::kRunning);
  EXPECT_THAT(store_.Kept(id).trials, SizeIs(1));
  EXPECT_EQ(store_.Kept(queued).state, ProbeState::kQueued);
  Restart();
  EXPECT_THAT(WaitForEnd(id)->trials, SizeIs(2));
  EXPECT_EQ(jobs_->Get(id)->restart_count, 1);
  EXPECT_EQ(jobs_->Counts().probes_resumed, 1);
}

TEST_F(DrainTest, EndsAProbeWhoseLastTrialEndsInTime) {
  StartHolding();
  const std::string id = CreateId(Profile({1}));
  WaitForTrial(id, 1);
  std::thread draining([&] { jobs_->Drain(steady_clock::now() + hours(1)); });
  runner_->LetGo();
  draining.join();
  EXPECT_EQ(store_.Kept(id).state, ProbeState::kSucceeded);
}

TEST_F(DrainTest, CancelsWhatStillRunsAtTheDeadline) {
  StartHolding();
  const std::string one = CreateId(Profile({1, 2}, "GPU-1"));
  const std::string two = CreateId(Profile({1, 2}, "GPU-2"));
  WaitForTrial(one, 1);
  WaitForTrial(two, 1);
  jobs_->Drain(steady_clock::now());
  EXPECT_EQ(jobs_->Counts().probes_cancelled, 0);
  EXPECT_EQ(store_.Kept(one).state, ProbeState::kRunning);
  EXPECT_EQ(jobs_->Get(two)->state, ProbeState::kRunning);
}

TEST_F(DrainTest, RefusesNewProbesButKnowsOldRequests) {
  Start();
  const std::string id = CreateId(Profile({1}), "r1");
  WaitForEnd(id);
  jobs_->Drain(steady_clock::now());
  EXPECT_EQ(ReasonOf(Create(Profile({1})).status()), "SHUTTING_DOWN");
  EXPECT_EQ(CreateId(Profile({1}), "r1"), id);
}

TEST_F(DrainTest, CutsAPauseShort) {
  Start(FakeTrialRunner::Always(TrialOutcome::kWorkerDied),
        {.workers = {.first_pause = hours(1), .longest_pause = hours(1)}});
  const std::string id = CreateId(Profile({1}));
  WaitUntil(id, [](const Probe& probe) { return !probe.trials.empty(); });
  jobs_->Drain(steady_clock::now() + hours(1));
  EXPECT_EQ(store_.Kept(id).state, ProbeState::kRunning);
}

TEST_F(DrainTest, ACancelCutsAPauseShortToo) {
  Start(FakeTrialRunner::Always(TrialOutcome::kWorkerDied),
        {.workers = {.first_pause = hours(1), .longest_pause = hours(1)}});
  const std::string id = CreateId(Profile({1}));
  WaitUntil(id, [](const Probe& probe) { return !probe.trials.empty(); });
  EXPECT_THAT(Cancel(id), IsOk());
  EXPECT_EQ(WaitForEnd(id)->state, ProbeState::kCancelled);
}

TEST_F(DrainTest, WaitsForAnEndEndWithStop) {
  StartHolding();
  const std::string id = CreateId(Profile({1}));
  std::promise<ProbePtr> told;
  const auto handle = jobs_->WhenEnded(
      id, [&](ProbePtr probe) { told.set_value(std::move(probe)); });
  jobs_->Drain(steady_clock::now());
  jobs_->Stop();
  EXPECT_EQ(told.get_future().get(), nullptr);
}

TEST_F(DrainTest, BeginsAnewWithAnotherWorkerAndSaysSo) {
  std::string version = "2.6";
  Start([&version](const TrialOrder&) -> absl::StatusOr<TrialResult> {
    TrialResult result{TrialThat(TrialOutcome::kFits), std::nullopt};
    result.worker_version = version;
    return result;
  });
  runner_->HoldTrials();
  const std::string id = CreateId(Profile({1, 2}));
  runner_->LetGo();
  WaitForTrial(id, 2);
  jobs_->Stop();
  EXPECT_EQ(store_.Kept(id).worker_version, "2.6");
  version = "2.7";
  runner_->LetGo(10);
  Restart();
  const ProbePtr probe = WaitForEnd(id);
  EXPECT_THAT(probe->trials, SizeIs(2));
  EXPECT_EQ(probe->worker_version, "2.7");
  EXPECT_THAT(probe->begun_anew_reason, HasSubstr("2.6"));
  EXPECT_EQ(jobs_->Counts().probes_begun_anew, 1);
}

class ForgetTest : public ::memplan::testing::ProbeJobsFixture {};

TEST_F(ForgetTest, KeepsTheLastProbesOnly) {
  Start(5, {.retention = {.keep_probes = 2}});
  std::vector<std::string> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(CreateId(Profile({1})));
    WaitForEnd(ids.back());
  }
  // Forgotten on the thread that also answers this.
  EXPECT_THAT(Cancel(ids[3]), IsOk());
  EXPECT_EQ(jobs_->Get(ids[1]), nullptr);
  EXPECT_NE(jobs_->Get(ids[2]), nullptr);
  EXPECT_EQ(store_.Kept(ids[0]).id, "");
  EXPECT_EQ(jobs_->Counts().probes_forgotten, 2);
}

TEST_F(ForgetTest, ForgetsAtTheStartWhatIsTooOld) {
  Probe old;
  old.id = "old";
  old.state = ProbeState::kSucceeded;
  old.end_time = Time{};
  store_.Put(old);
  Start();
  EXPECT_EQ(jobs_->Get("old"), nullptr);
  EXPECT_EQ(store_.Kept("old").id, "");
}

}  // namespace
}  // namespace memplan
