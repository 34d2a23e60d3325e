#include "server/jobs/probe_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/base/reason.h"
#include "tests/server/core/probe_jobs_fixture.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ProbeJobsTest : public ::memplan::testing::ProbeJobsFixture {};

TEST_F(ProbeJobsTest, GivesTheNewProbeOnceItIsOnDisk) {
  StartHolding();
  const auto probe = Create(Profile({1}), "r1");
  ASSERT_THAT(probe, IsOk());
  EXPECT_EQ((*probe)->state, ProbeState::kQueued);
  EXPECT_EQ((*probe)->request_id, "r1");
  EXPECT_GE((*probe)->version, 1);
  EXPECT_TRUE(store_.WasSaved((*probe)->id, 1));
  EXPECT_EQ(models_.PinsOf("m"), 1);
}

TEST_F(ProbeJobsTest, RunsAProbeToItsEnd) {
  Start(5);
  ProbeSpec spec = Profile({});
  spec.task = SearchOptions{2, 100, 1};
  const ProbePtr probe = WaitForEnd(CreateId(spec));
  EXPECT_EQ(probe->state, ProbeState::kSucceeded);
  ASSERT_TRUE(probe->plan);
  EXPECT_EQ(probe->plan->answer.safe_batch, 5);
  EXPECT_EQ(probe->plan->trial_count, static_cast<int>(probe->trials.size()));
  EXPECT_TRUE(probe->start_time);
  EXPECT_TRUE(probe->end_time);
  EXPECT_FALSE(probe->progress);
  EXPECT_EQ(models_.PinsOf("m"), 0);
  const Probe kept = store_.Kept(probe->id);
  EXPECT_EQ(kept.state, ProbeState::kSucceeded);
  EXPECT_EQ(kept.trials, probe->trials);
}

TEST_F(ProbeJobsTest, GivesTheRunnerTheModelAndATracePath) {
  Start();
  const std::string id = CreateId(Profile({1, 2}));
  WaitForEnd(id);
  const auto orders = runner_->orders();
  ASSERT_THAT(orders, SizeIs(2));
  EXPECT_EQ(orders[1].request.model_path, "/models/m");
  EXPECT_EQ(orders[1].trace_path, "/traces/" + id + "/2");
}

TEST_F(ProbeJobsTest, KeepsALossAsItKeepsTheModel) {
  StartHolding();
  ProbeSpec spec = Profile({1});
  spec.loss_model_sha256 = "m";  // a loss may be stored like any model
  const std::string id = CreateId(spec);
  EXPECT_EQ(models_.PinsOf("m"), 2);
  runner_->LetGo();
  WaitForEnd(id);
  EXPECT_EQ(models_.PinsOf("m"), 0);
  ASSERT_THAT(runner_->orders(), SizeIs(1));
  EXPECT_EQ(runner_->orders()[0].request.loss_path, "/models/m");
}

TEST_F(ProbeJobsTest, RefusesALossThatIsNotStored) {
  Start();
  ProbeSpec spec = Profile({1});
  spec.loss_model_sha256 = "unknown";
  const auto probe = Create(spec);
  EXPECT_EQ(ReasonOf(probe.status()), "MODEL_NOT_FOUND");
  EXPECT_EQ(FieldOf(probe.status()), "spec.step.loss_model_sha256");
  EXPECT_EQ(models_.PinsOf("m"), 0);
}

TEST_F(ProbeJobsTest, GivesTheSameProbeForTheSameRequest) {
  Start();
  const std::string first = CreateId(Profile({1}), "r1");
  EXPECT_EQ(CreateId(Profile({1}), "r1"), first);
  EXPECT_NE(CreateId(Profile({1}), "r2"), first);
  EXPECT_NE(CreateId(Profile({1})), CreateId(Profile({1})));
  WaitForEnd(first);
  EXPECT_EQ(CreateId(Profile({1}), "r1"), first) << "also once it has ended";
}

TEST_F(ProbeJobsTest, RefusesAModelThatIsNotStored) {
  Start();
  ProbeSpec spec = Profile({1});
  spec.model_sha256 = "unknown";
  const auto probe = Create(spec);
  EXPECT_THAT(probe, StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(ReasonOf(probe.status()), "MODEL_NOT_FOUND");
  EXPECT_EQ(FieldOf(probe.status()), "spec.model_sha256");
  EXPECT_THAT(jobs_->List(), IsEmpty());
}

TEST_F(ProbeJobsTest, RefusesMoreThanMayWait) {
  Start(5, {.max_queued = 2});
  runner_->HoldTrials();
  WaitForTrial(CreateId(Profile({1})), 1);
  const std::string kept = CreateId(Profile({1}), "kept");
  CreateId(Profile({1}));
  const auto probe = Create(Profile({1}, "another device"));
  EXPECT_THAT(probe, StatusIs(absl::StatusCode::kResourceExhausted,
                              HasSubstr("2 probes are waiting")));
  EXPECT_EQ(ReasonOf(probe.status()), "QUEUE_FULL");
  EXPECT_EQ(CreateId(Profile({1}), "kept"), kept) << "it was taken before";
}

TEST_F(ProbeJobsTest, RunsOneAtATimeOnADeviceInOrder) {
  StartHolding();
  const std::string first = CreateId(Profile({1}));
  const std::string second = CreateId(Profile({2}));
  const std::string third = CreateId(Profile({3}));
  WaitForTrial(first, 1);
  runner_->WaitForOrders(1);
  EXPECT_EQ(jobs_->Get(second)->state, ProbeState::kQueued);
  EXPECT_EQ(jobs_->Get(second)->queue_position, 1);
  EXPECT_EQ(jobs_->Get(third)->queue_position, 2);
  EXPECT_THAT(runner_->batches(), ElementsAre(1));
  runner_->LetGo(3);
  WaitForEnd(third);
  EXPECT_THAT(runner_->batches(), ElementsAre(1, 2, 3));
  EXPECT_EQ(jobs_->Get(third)->queue_position, 0);
}

TEST_F(ProbeJobsTest, RunsDevicesBesideEachOther) {
  StartHolding();
  const std::string first = CreateId(Profile({1}, "GPU-1"));
  const std::string second = CreateId(Profile({2}, "GPU-2"));
  WaitForTrial(first, 1);
  WaitForTrial(second, 1);
  EXPECT_EQ(jobs_->Counts().running, 2);
}

TEST_F(ProbeJobsTest, ListsTheNewestFirst) {
  Start();
  const std::string first = CreateId(Profile({1}));
  const std::string second = CreateId(Profile({1}));
  const auto probes = jobs_->List();
  ASSERT_THAT(probes, SizeIs(2));
  EXPECT_EQ(probes[0]->id, second);
  EXPECT_EQ(probes[1]->id, first);
  EXPECT_EQ(jobs_->Get("nobody"), nullptr);
}

TEST_F(ProbeJobsTest, FailsWithTheReasonOfTheExecution) {
  Start([](const TrialOrder&) {
    return WithReason(absl::FailedPreconditionError("no worker"),
                      "WORKER_UNUSABLE");
  });
  const ProbePtr probe = WaitForEnd(CreateId(Profile({1})));
  EXPECT_EQ(probe->state, ProbeState::kFailed);
  EXPECT_EQ(probe->error->reason, "WORKER_UNUSABLE");
  EXPECT_EQ(store_.Kept(probe->id).error->message, "no worker");
}

TEST_F(ProbeJobsTest, CountsWhatHappened) {
  Start(2);
  WaitForEnd(CreateId(Profile({1, 2, 3})));
  runner_->HoldTrials();
  const std::string cancelled = CreateId(Profile({1}));
  WaitForTrial(cancelled, 1);
  ASSERT_THAT(Cancel(cancelled), IsOk());
  WaitForEnd(cancelled);
  const JobCounts counts = jobs_->Counts();
  EXPECT_EQ(counts.trials,
            (std::map<std::pair<TrialPurpose, TrialOutcome>, int64_t>{
                {{TrialPurpose::kProfile, TrialOutcome::kFits}, 2},
                {{TrialPurpose::kProfile, TrialOutcome::kOutOfMemory}, 1}}));
  EXPECT_EQ(counts.probes_succeeded, 1);
  EXPECT_EQ(counts.probes_failed, 0);
  EXPECT_EQ(counts.probes_cancelled, 1);
  EXPECT_EQ(counts.queued, 0);
  EXPECT_EQ(counts.running, 0);
}

TEST_F(ProbeJobsTest, CancelsAProbeThatWaits) {
  StartHolding();
  const std::string first = CreateId(Profile({1}));
  const std::string second = CreateId(Profile({2}));
  const std::string third = CreateId(Profile({3}));
  WaitForTrial(first, 1);
  const auto cancelled = Cancel(second);
  ASSERT_THAT(cancelled, IsOk());
  EXPECT_EQ((*cancelled)->state, ProbeState::kCancelled);
  EXPECT_EQ((*cancelled)->queue_position, 0);
  EXPECT_EQ(store_.Kept(second).state, ProbeState::kCancelled);
  EXPECT_EQ(jobs_->Get(third)->queue_position, 1);
  runner_->LetGo(2);
  WaitForEnd(third);
  EXPECT_THAT(runner_->batches(), ElementsAre(1, 3));
  EXPECT_EQ(models_.PinsOf("m"), 0);
}

TEST_F(ProbeJobsTest, CancelsAProbeThatRuns) {
  StartHolding();
  const std::string id = CreateId(Profile({1, 2}));
  WaitForTrial(id, 1);
  runner_->LetGo();
  WaitForTrial(id, 2);
  ASSERT_THAT(Cancel(id), IsOk());
  const ProbePtr probe = WaitForEnd(id);
  EXPECT_EQ(probe->state, ProbeState::kCancelled);
  EXPECT_THAT(probe->trials, SizeIs(1)) << "what was seen is kept";
  EXPECT_EQ(store_.Kept(id).state, ProbeState::kCancelled);
}

TEST_F(ProbeJobsTest, RunsTheNextAfterACancelledOne) {
  StartHolding();
  const std::string first = CreateId(Profile({1}));
  const std::string second = CreateId(Profile({2}));
  WaitForTrial(first, 1);
  ASSERT_THAT(Cancel(first), IsOk());
  WaitForTrial(second, 1);
}

TEST_F(ProbeJobsTest, LeavesAnEndedProbeAsItIs) {
  Start();
  const std::string id = CreateId(Profile({1}));
  WaitForEnd(id);
  const auto probe = Cancel(id);
  ASSERT_THAT(probe, IsOk());
  EXPECT_EQ((*probe)->state, ProbeState::kSucceeded);
}

TEST_F(ProbeJobsTest, SaysThatThereIsNoSuchProbe) {
  Start();
  for (const absl::Status& status : {Cancel("x").status(), Delete("x")}) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound));
    EXPECT_EQ(ReasonOf(status), "PROBE_NOT_FOUND");
  }
  EXPECT_EQ(jobs_->Watch("x", [](const ProbePtr&) {}), nullptr);
}

TEST_F(ProbeJobsTest, DeletesAnEndedProbeAlone) {
  StartHolding();
  const std::string id = CreateId(Profile({1}), "r1");
  WaitForTrial(id, 1);
  const absl::Status status = Delete(id);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(ReasonOf(status), "PROBE_NOT_ENDED");
  runner_->LetGo();
  WaitForEnd(id);
  EXPECT_THAT(Delete(id), IsOk());
  EXPECT_EQ(jobs_->Get(id), nullptr);
  EXPECT_EQ(store_.Kept(id).id, "");
  EXPECT_THAT(Delete(id), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_NE(CreateId(Profile({1}), "r1"), id) << "the request is forgotten too";
}

}  // namespace
}  // namespace memplan
