// What watchers hear, and that the store hears it first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/server/core/probe_jobs_fixture.h"

namespace memplan {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class WatchProbeTest : public ::memplan::testing::ProbeJobsFixture {};

TEST_F(WatchProbeTest, HearsOfEveryStepInOrder) {
  Start();
  runner_->set_progress({{"load", 0}, {"step", 1}});
  runner_->HoldTrials();
  const std::string blocker = CreateId(Profile({9}));
  WaitForTrial(blocker, 1);
  const std::string id = CreateId(Profile({1}));
  std::vector<std::string> heard;
  std::vector<int64_t> versions;
  std::promise<void> ended;
  const auto handle = jobs_->Watch(id, [&](const ProbePtr& probe) {
    if (probe == nullptr) return;
    versions.push_back(probe->version);
    if (probe->state == ProbeState::kQueued) {
      heard.push_back("queued " + std::to_string(probe->queue_position));
    } else if (HasEnded(probe->state)) {
      heard.push_back("ended");
      ended.set_value();
    } else {
      heard.push_back((probe->progress ? probe->progress->phase : "running") +
                      " " + std::to_string(probe->trials.size()));
    }
  });
  runner_->LetGo(2);
  ended.get_future().wait();
  jobs_->Stop();
  EXPECT_TRUE(std::is_sorted(versions.begin(), versions.end(),
                             std::less_equal<int64_t>()))
      << "each version once, and upwards";
  EXPECT_THAT(heard, ElementsAre("queued 1", "queued 0", "running 0", "start 0",
                                 "load 0", "step 0", "step 1", "ended"));
}

TEST_F(WatchProbeTest, HearsOfNothingThatIsNotOnDisk) {
  Start(2);
  std::vector<ProbePtr> heard;
  runner_->HoldTrials();
  const std::string id = CreateId(Profile({1, 2, 3}));
  std::promise<void> ended;
  const auto handle = jobs_->Watch(id, [&](const ProbePtr& probe) {
    if (probe == nullptr) return;
    const bool first = heard.empty();
    const bool news = first || heard.back()->state != probe->state ||
                      heard.back()->trials.size() != probe->trials.size();
    if (news && !first) {
      EXPECT_TRUE(store_.WasSaved(id, probe->version)) << probe->version;
    }
    heard.push_back(probe);
    if (HasEnded(probe->state)) ended.set_value();
  });
  runner_->LetGo(3);
  ended.get_future().wait();
}

TEST_F(WatchProbeTest, HearsTheEndOfAProbeThatHasEnded) {
  Start();
  const std::string id = CreateId(Profile({1}));
  WaitForEnd(id);
  EXPECT_EQ(WaitForEnd(id)->state, ProbeState::kSucceeded);
}

TEST_F(WatchProbeTest, HearsNullWhenTheDaemonStops) {
  StartHolding();
  const std::string id = CreateId(Profile({1}));
  WaitForTrial(id, 1);
  std::vector<bool> nulls;
  const auto handle = jobs_->Watch(
      id, [&](const ProbePtr& probe) { nulls.push_back(probe == nullptr); });
  jobs_->Stop();
  ASSERT_FALSE(nulls.empty());
  EXPECT_TRUE(nulls.back());
  EXPECT_EQ(std::count(nulls.begin(), nulls.end(), true), 1);
  EXPECT_EQ(WaitUntil(id, [](const Probe&) { return false; }), nullptr)
      << "also who comes later";
}

TEST_F(WatchProbeTest, MayAskTheQueueWithinItsCall) {
  Start();
  const std::string id = CreateId(Profile({1}));
  std::promise<void> asked;
  bool was_asked = false;
  const auto handle = jobs_->Watch(id, [&](const ProbePtr& probe) {
    if (probe == nullptr || !HasEnded(probe->state) || was_asked) return;
    was_asked = true;
    EXPECT_EQ(jobs_->Get(id)->version, probe->version);
    EXPECT_THAT(jobs_->List(), SizeIs(1));
    asked.set_value();
  });
  asked.get_future().wait();
}

TEST_F(WatchProbeTest, ManyMayComeAndGoWhileProbesRun) {
  Start();
  runner_->set_progress({{"load", 0}, {"step", 1}, {"step", 2}});
  std::vector<std::string> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(CreateId(Profile({1, 2, 3}, "GPU-" + std::to_string(i % 2))));
  }
  std::vector<std::thread> watchers;
  watchers.reserve(ids.size());
  for (const std::string& id : ids) {
    watchers.emplace_back([this, &id] {
      for (int i = 0; i < 20; ++i) {
        const auto handle = jobs_->Watch(id, [](const ProbePtr&) {});
        (void)jobs_->Counts();
      }
      WaitForEnd(id);
    });
  }
  for (std::thread& watcher : watchers) watcher.join();
  EXPECT_EQ(jobs_->Counts().probes_succeeded, 4);
}

}  // namespace
}  // namespace memplan
