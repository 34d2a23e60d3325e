// Probes from the queue down to worker processes: what the parts do together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <future>
#include <sstream>

#include "server/jobs/probe_jobs.h"
#include "server/workers/process_trial_runner.h"
#include "tests/server/core/store_fixture.h"
#include "tests/support/scripted_model.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::ScriptedModel;
using ::memplan::testing::StoreTest;
using ::memplan::testing::Upload;

class ProbeProcessesTest : public StoreTest {
 protected:
  ProbeProcessesTest() {
    WorkerOptions options;
    options.program = MEMPLAN_SCRIPTED_WORKER;
    runner_ = MakeProcessTrialRunner(std::move(options));
    Start();
  }

  void Start() {
    auto jobs =
        ProbeJobs::Start({}, *store().probes, *store().models, *runner_);
    EXPECT_THAT(jobs, IsOk());
    jobs_ = *std::move(jobs);
  }
  // The id of a search on a model that behaves as `script` says.
  std::string Search(const std::string& script,
                     const std::string& device_id = "cpu") {
    const auto model = Upload(*store().models, ScriptedModel(script), "m");
    EXPECT_THAT(model, IsOk());
    ProbeSpec spec;
    spec.model_sha256 = model->sha256;
    spec.device_id = device_id;
    spec.limit.cap = GiB(1);
    spec.task = SearchOptions{8, 1000, 1};
    std::promise<std::string> id;
    jobs_->Create(spec, "", [&](absl::StatusOr<ProbeJobs::ProbePtr> probe) {
      ASSERT_THAT(probe, IsOk());
      id.set_value((*probe)->id);
    });
    return id.get_future().get();
  }
  ProbeJobs::ProbePtr WaitForEnd(const std::string& id) {
    return WaitUntil(id,
                     [](const Probe& probe) { return HasEnded(probe.state); });
  }
  ProbeJobs::ProbePtr WaitUntil(
      const std::string& id, const std::function<bool(const Probe&)>& reached) {
    std::promise<ProbeJobs::ProbePtr> found;
    bool was_found = false;
    const auto handle = jobs_->Watch(id, [&](const ProbeJobs::ProbePtr& probe) {
      if (was_found || !probe || !reached(*probe)) return;
      was_found = true;
      found.set_value(probe);
    });
    return found.get_future().get();
  }

  std::unique_ptr<ProcessTrialRunner> runner_;
  std::unique_ptr<ProbeJobs> jobs_;
};

// 1 GiB less 1 MiB for the model, 1 MiB a sample.
TEST_F(ProbeProcessesTest, FindWhatFitsUnderTheCap) {
  const auto probe = WaitForEnd(Search("{}"));
  ASSERT_EQ(probe->state, ProbeState::kSucceeded);
  EXPECT_EQ(probe->plan->answer.safe_batch, 1000);
  EXPECT_EQ(probe->plan->answer.limit, SearchLimit::kMaxBatch);
  const auto tighter =
      WaitForEnd(Search("{\"bytes_per_sample\": 10485760}"));  // 10 MiB
  ASSERT_EQ(tighter->state, ProbeState::kSucceeded);
  EXPECT_EQ(tighter->plan->answer.safe_batch, 102);  // 1023 MiB / 10 MiB
  EXPECT_TRUE(tighter->plan->verified);
}

// A driver that would rather spill than fail never says no.
TEST_F(ProbeProcessesTest, FindWhatFitsWithoutTheHostsMemory) {
  const auto probe = WaitForEnd(Search(R"({"spills_above": 20})", "GPU-1"));
  ASSERT_EQ(probe->state, ProbeState::kSucceeded);
  EXPECT_EQ(probe->plan->answer.safe_batch, 20);
  EXPECT_EQ(probe->plan->answer.limit, SearchLimit::kMemory);
  for (const Trial& trial : probe->trials) {
    EXPECT_EQ(trial.end_class, trial.batch > 20 ? "spilled" : "");
  }
}

TEST_F(ProbeProcessesTest, GoOnAndEndRightAfterAWorkerWasKilled) {
  const std::string marker = temp_.Path("killed-once");
  const auto probe = WaitForEnd(
      Search("{\"limit_batch\": 37, \"on_batch\": {\"16\": \"dies by signal "
             "9\"}, \"once\": \"" +
             marker + "\"}"));
  ASSERT_EQ(probe->state, ProbeState::kSucceeded);
  EXPECT_EQ(probe->plan->answer.safe_batch, 37);
  EXPECT_TRUE(probe->plan->verified);
  EXPECT_EQ(runner_->Counts().killed_by_signal, 1);
}

TEST_F(ProbeProcessesTest, EndRightAfterTheDaemonWasStoppedInATrial) {
  const std::string marker = temp_.Path("hung-once");
  const std::string id = Search(
      "{\"limit_batch\": 37, \"on_batch\": {\"32\": \"hangs on\"}, "
      "\"once\": \"" +
      marker + "\"}");
  WaitUntil(id, [](const Probe& probe) {
    return probe.progress && probe.progress->batch == 32 &&
           probe.progress->phase == "step";
  });
  jobs_.reset();
  Start();
  const auto probe = WaitForEnd(id);
  ASSERT_EQ(probe->state, ProbeState::kSucceeded);
  EXPECT_EQ(probe->plan->answer.safe_batch, 37);
  EXPECT_EQ(probe->restart_count, 1);
}

}  // namespace
}  // namespace memplan
