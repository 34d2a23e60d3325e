// The end of the daemon, expected or not, its next start, and a store that
// cannot be written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/base/reason.h"
#include "tests/server/core/probe_jobs_fixture.h"
#include "tests/server/core/store_fixture.h"

namespace memplan {
namespace {

using ::memplan::testing::FakeTrialRunner;
using ::memplan::testing::IsOk;
using ::memplan::testing::OpenedStore;
using ::memplan::testing::SmallArchive;
using ::memplan::testing::StatusIs;
using ::memplan::testing::TempDir;
using ::memplan::testing::Upload;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RestartTest : public ::memplan::testing::ProbeJobsFixture {
 protected:
  Probe Stored(const std::string& id, ProbeState state) {
    Probe probe;
    probe.id = id;
    probe.spec = Profile({1, 2});
    probe.state = state;
    probe.create_time = std::chrono::system_clock::now();
    probe.version = 5;
    return probe;
  }
};

TEST_F(RestartTest, GoesOnWithWhatWasRunningAndThenTheRestInOrder) {
  Probe running = Stored("b", ProbeState::kRunning);
  running.trials.resize(1);
  running.start_time = Time{};
  running.restart_count = 1;
  store_.Put(Stored("c", ProbeState::kSucceeded));
  store_.Put(running);
  store_.Put(Stored("a", ProbeState::kQueued));
  StartHolding();
  const ProbePtr again = WaitForTrial("b", 2);
  EXPECT_EQ(again->restart_count, 2);
  EXPECT_THAT(again->trials, SizeIs(1));
  EXPECT_GT(again->version, 5);
  EXPECT_EQ(jobs_->Get("a")->state, ProbeState::kQueued);
  EXPECT_EQ(jobs_->Get("a")->restart_count, 0);
  EXPECT_EQ(jobs_->Get("c")->state, ProbeState::kSucceeded);
  EXPECT_EQ(jobs_->Get("c")->version, 5);
  EXPECT_EQ(models_.PinsOf("m"), 2);
  runner_->LetGo(3);
  EXPECT_THAT(WaitForEnd("a")->trials, SizeIs(2));
  EXPECT_THAT(jobs_->Get("b")->trials, SizeIs(2));
}

TEST_F(RestartTest, SavesThatAProbeIsBackInTheQueue) {
  store_.Put(Stored("a", ProbeState::kQueued));
  Probe running = Stored("b", ProbeState::kRunning);
  running.trials.resize(1);
  store_.Put(running);
  StartHolding();
  WaitForTrial("a", 1);
  const Probe kept = store_.Kept("b");
  EXPECT_EQ(kept.state, ProbeState::kQueued);
  EXPECT_EQ(kept.restart_count, 1);
  EXPECT_THAT(kept.trials, SizeIs(1));
}

TEST_F(RestartTest, FailsAProbeWhoseModelIsGone) {
  Probe probe = Stored("a", ProbeState::kQueued);
  probe.spec.model_sha256 = "gone";
  store_.Put(probe);
  Start();
  EXPECT_EQ(jobs_->Get("a")->state, ProbeState::kFailed);
  EXPECT_EQ(jobs_->Get("a")->error->reason, "MODEL_NOT_FOUND");
  EXPECT_EQ(store_.Kept("a").state, ProbeState::kFailed);
}

TEST_F(RestartTest, RemembersRequests) {
  Start();
  const std::string id = CreateId(Profile({1}), "r1");
  WaitForEnd(id);
  Restart();
  EXPECT_EQ(CreateId(Profile({1}), "r1"), id);
  EXPECT_THAT(Create(Profile({2}), "r1"),
              StatusIs(absl::StatusCode::kAlreadyExists));
}

TEST_F(RestartTest, StartsEvenIfTheStoreCannotBeWritten) {
  store_.Put(Stored("a", ProbeState::kRunning));
  store_.FailFor(ProbeState::kQueued);
  Start();
  EXPECT_EQ(WaitForEnd("a")->state, ProbeState::kSucceeded);
}

TEST_F(RestartTest, NeverGoesDownInVersion) {
  StartHolding();
  const std::string id = CreateId(Profile({1}));
  const int64_t before = WaitForTrial(id, 1)->version;
  Restart();
  const int64_t after = jobs_->Get(id)->version;
  EXPECT_GT(after, before);
}

class StopTest : public RestartTest {};

TEST_F(StopTest, LeavesARunningProbeToTheNextStart) {
  StartHolding();
  const std::string id = CreateId(Profile({1, 2}));
  WaitForTrial(id, 1);
  runner_->LetGo();
  WaitForTrial(id, 2);
  jobs_->Stop();
  EXPECT_EQ(store_.Kept(id).state, ProbeState::kRunning);
  Restart();
  runner_->LetGo();
  const ProbePtr probe = WaitForEnd(id);
  EXPECT_EQ(probe->state, ProbeState::kSucceeded);
  EXPECT_EQ(probe->restart_count, 1);
  EXPECT_THAT(runner_->batches(), ElementsAre(1, 2, 2));
}

TEST_F(StopTest, StillEndsAProbeThatTheUserCancelled) {
  StartHolding();
  const std::string id = CreateId(Profile({1}));
  WaitForTrial(id, 1);
  ASSERT_THAT(Cancel(id), IsOk());
  jobs_->Stop();
  EXPECT_EQ(store_.Kept(id).state, ProbeState::kCancelled);
}

TEST_F(StopTest, RefusesNewProbesAndStillAnswers) {
  Start();
  const std::string id = CreateId(Profile({1}));
  WaitForEnd(id);
  jobs_->Stop();
  jobs_->Stop();
  const auto probe = Create(Profile({1}));
  EXPECT_THAT(probe, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(ReasonOf(probe.status()), "SHUTTING_DOWN");
  EXPECT_EQ(jobs_->Get(id)->state, ProbeState::kSucceeded);
  EXPECT_THAT(Cancel(id), IsOk());
}

TEST_F(StopTest, TakesAtOnceWhileProbesWait) {
  StartHolding();
  for (int i = 0; i < 10; ++i) CreateId(Profile({1}, i % 2 ? "cpu" : "GPU-1"));
  jobs_.reset();
  EXPECT_LE(runner_->batches().size(), 2u);
}

class StoreFailureTest : public RestartTest {};

TEST_F(StoreFailureTest, FailsTheCreation) {
  Start();
  store_.FailFor(ProbeState::kQueued);
  const auto probe = Create(Profile({1}), "r1");
  EXPECT_THAT(probe, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(ReasonOf(probe.status()), "STORE_FULL");
  EXPECT_THAT(jobs_->List(), IsEmpty());
  EXPECT_EQ(models_.PinsOf("m"), 0);
}

TEST_F(StoreFailureTest, FailsAProbeThatCannotBeSavedAsRunning) {
  Start();
  store_.FailFor(ProbeState::kRunning);
  const ProbePtr probe = WaitForEnd(CreateId(Profile({1})));
  EXPECT_EQ(probe->state, ProbeState::kFailed);
  EXPECT_EQ(probe->error->reason, "STORE_FULL");
  EXPECT_THAT(runner_->batches(), IsEmpty());
}

TEST_F(StoreFailureTest, FailsAProbeWhoseEndCannotBeSavedAndRunsItAgain) {
  Start();
  store_.FailFor(ProbeState::kSucceeded);
  const std::string id = CreateId(Profile({1}));
  const ProbePtr probe = WaitForEnd(id);
  EXPECT_EQ(probe->state, ProbeState::kFailed);
  EXPECT_EQ(probe->error->reason, "STORE_FULL");
  EXPECT_THAT(probe->error->message, HasSubstr("next start runs it again"));
  EXPECT_EQ(store_.Kept(id).state, ProbeState::kRunning);
}

TEST_F(StoreFailureTest, LeavesAProbeInLineThatCannotBeSavedAsCancelled) {
  StartHolding();
  const std::string first = CreateId(Profile({1}));
  const std::string second = CreateId(Profile({2}));
  WaitForTrial(first, 1);
  store_.FailFor(ProbeState::kCancelled);
  EXPECT_THAT(Cancel(second), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(jobs_->Get(second)->state, ProbeState::kQueued);
  EXPECT_EQ(jobs_->Get(second)->queue_position, 1);
  runner_->LetGo(2);
  EXPECT_EQ(WaitForEnd(second)->state, ProbeState::kSucceeded);
}

// The whole way over the disk.
TEST(ProbeJobsOnDiskTest, EndsAProbeThatAnEarlierDaemonBegan) {
  TempDir temp;
  FakeTrialRunner runner(FakeTrialRunner::FitsUpTo(5));
  runner.HoldTrials();
  std::string id;
  {
    OpenedStore store(temp.path());
    const auto model = Upload(*store.models, SmallArchive("m"), "m");
    ASSERT_THAT(model, IsOk());
    const auto jobs =
        ProbeJobs::Start({}, *store.probes, *store.models, runner);
    ASSERT_THAT(jobs, IsOk());
    ProbeSpec spec;
    spec.model_sha256 = model->sha256;
    spec.device_id = "cpu";
    spec.task = SearchOptions{2, 100, 1};
    std::promise<void> running;
    (*jobs)->Create(spec, "", [&](absl::StatusOr<ProbeJobs::ProbePtr> probe) {
      ASSERT_THAT(probe, IsOk());
      id = (*probe)->id;
      running.set_value();
    });
    running.get_future().wait();
    EXPECT_THAT(store.models->Delete(model->sha256),
                StatusIs(absl::StatusCode::kFailedPrecondition));
  }
  runner.LetGo(100);
  OpenedStore store(temp.path());
  const auto jobs = ProbeJobs::Start({}, *store.probes, *store.models, runner);
  ASSERT_THAT(jobs, IsOk());
  std::promise<int64_t> answer;
  const auto handle = (*jobs)->Watch(id, [&](const ProbeJobs::ProbePtr& probe) {
    if (probe && probe->plan) {
      answer.set_value(probe->plan->answer.safe_batch);
    }
  });
  EXPECT_EQ(answer.get_future().get(), 5);
}

}  // namespace
}  // namespace memplan
