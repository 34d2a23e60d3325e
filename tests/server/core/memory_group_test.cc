#include "server/workers/memory_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "tests/server/core/fake_control_groups.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::FakeControlGroups;
using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;
using ::testing::HasSubstr;

class MemoryGroupsTest : public ::testing::Test {
 protected:
  std::shared_ptr<MemoryGroups> Open(Bytes limit = GiB(3)) {
    return MemoryGroups::Open(limit, fake_.system());
  }
  void ExpectMissing(const std::string& reason) {
    const SandboxLayer layer = Open()->layer();
    EXPECT_EQ(layer.state, LayerState::kMissing);
    EXPECT_THAT(layer.detail, HasSubstr(reason));
    EXPECT_THAT(layer.detail, HasSubstr("Delegate=memory"));
    EXPECT_THAT(Open()->Make(), IsOk()) << "workers run without";
    EXPECT_FALSE(fake_.Has("trial-1"));
  }
  const std::string self_ = std::to_string(getpid());
  FakeControlGroups fake_;
};

TEST_F(MemoryGroupsTest, DividesItsOwnGroup) {
  const auto groups = Open();
  EXPECT_EQ(groups->layer().name, "memory_limit");
  EXPECT_EQ(groups->layer().state, LayerState::kInForce);
  EXPECT_THAT(groups->layer().detail, HasSubstr("3.00 GiB a worker, below /"));
  EXPECT_EQ(fake_.Read("daemon/cgroup.procs"), self_);
  EXPECT_EQ(fake_.Read("cgroup.subtree_control"), "+memory");
}

TEST_F(MemoryGroupsTest, TouchesNothingWithoutALimit) {
  const auto groups = Open(Bytes(0));
  EXPECT_EQ(groups->layer().state, LayerState::kOff);
  EXPECT_EQ(groups->layer().detail, "worker_memory is 0");
  EXPECT_THAT(groups->Make(), IsOk());
  EXPECT_FALSE(fake_.Has("daemon"));
  EXPECT_FALSE(fake_.Has("trial-1"));
}

// 3 GiB = 3 * 2^30 bytes.
TEST_F(MemoryGroupsTest, BoundsTheGroupOfATrial) {
  const auto groups = Open();
  {
    const auto group = groups->Make();
    ASSERT_THAT(group, IsOk());
    EXPECT_THAT(group->Add(4711), IsOk());
    EXPECT_EQ(fake_.Read("trial-1/memory.max"), "3221225472");
    EXPECT_EQ(fake_.Read("trial-1/memory.swap.max"), "0");
    EXPECT_EQ(fake_.Read("trial-1/memory.oom.group"), "1");
    EXPECT_EQ(fake_.Read("trial-1/cgroup.procs"), "4711");
  }
  EXPECT_FALSE(fake_.Has("trial-1"));
  const auto next = groups->Make();
  EXPECT_TRUE(fake_.Has("trial-2"));
}

TEST_F(MemoryGroupsTest, DoesWithoutSwapInTheKernel) {
  fake_.new_group.erase("memory.swap.max");
  EXPECT_THAT(Open()->Make(), IsOk());
}

TEST_F(MemoryGroupsTest, MakesNoGroupWithoutItsLimit) {
  fake_.new_group.erase("memory.max");
  EXPECT_THAT(Open()->Make(), StatusIs(absl::StatusCode::kResourceExhausted,
                                       HasSubstr("trial-1: No such file")));
  EXPECT_FALSE(fake_.Has("trial-1"));
}

TEST_F(MemoryGroupsTest, RemovesAGroupAsSoonAsItIsEmpty) {
  const auto groups = Open();
  auto group = groups->Make();
  std::optional<MemoryGroup> moved = *std::move(group);
  fake_.busy_times = 3;
  moved.reset();
  EXPECT_EQ(fake_.busy_times, 0);
  EXPECT_FALSE(fake_.Has("trial-1"));
}

TEST_F(MemoryGroupsTest, RemovesWhatAnEarlierDaemonLeft) {
  fake_.Make(fake_.Path("tree/unit/trial-7"));
  fake_.Make(fake_.Path("tree/unit/other"));
  Open();
  EXPECT_FALSE(fake_.Has("trial-7"));
  EXPECT_TRUE(fake_.Has("other"));
}

TEST_F(MemoryGroupsTest, PassesOverAGroupThatStays) {
  const auto groups = Open();
  fake_.Make(fake_.Path("tree/unit/trial-1"));
  const auto group = groups->Make();
  EXPECT_THAT(group, IsOk());
  EXPECT_EQ(fake_.Read("trial-1/memory.max"), "");
  EXPECT_EQ(fake_.Read("trial-2/memory.max"), "3221225472");
}

TEST_F(MemoryGroupsTest, StaysInTheLeafThatItWasStartedIn) {
  fake_.Make(fake_.Path("tree/unit/daemon"));
  fake_.Write("tree/unit/daemon/cgroup.procs", self_);
  fake_.Write("own_group", "0::/unit/daemon\n");
  EXPECT_EQ(Open()->layer().state, LayerState::kInForce);
  EXPECT_EQ(fake_.Read("cgroup.subtree_control"), "+memory");
  EXPECT_FALSE(fake_.Has("daemon/daemon"));
}

TEST_F(MemoryGroupsTest, NeedsTheMemoryController) {
  fake_.Write("tree/unit/cgroup.controllers", "cpu pids\n");
  ExpectMissing("has no memory controller");
}

TEST_F(MemoryGroupsTest, NeedsVersion2) {
  fake_.Write("own_group", "4:memory:/unit\n");
  ExpectMissing("in no cgroup v2");
  fake_.Write("own_group", "0::/../unit\n");
  ExpectMissing("in no cgroup v2 that it can see");
  fake_.Write("own_group", "0::/unit\n");
  fake_.Write("mounts", "cgroup /sys/fs/cgroup/memory cgroup rw 0 0\n");
  ExpectMissing("cgroup v2 is not mounted");
}

TEST_F(MemoryGroupsTest, LeavesAGroupOfOthersAlone) {
  fake_.Write("tree/unit/cgroup.procs", self_ + "\n1\n");
  ExpectMissing("has other processes (1)");
  EXPECT_FALSE(fake_.Has("daemon"));
  EXPECT_EQ(fake_.Read("cgroup.subtree_control"), "");
}

TEST_F(MemoryGroupsTest, LeavesAGroupAloneThatIsNotItsOwn) {
  std::filesystem::remove(fake_.Path("tree/unit/cgroup.subtree_control"));
  ExpectMissing("is not this daemon's to divide");
  EXPECT_FALSE(fake_.Has("daemon"));
}

// A folder can be opened for writing by nobody, as that file for this daemon.
TEST_F(MemoryGroupsTest, GoesBackIfItGetsNoController) {
  const std::string control = fake_.Path("tree/unit/cgroup.subtree_control");
  std::filesystem::remove(control);
  std::filesystem::create_directory(control);
  ExpectMissing("do not get the memory controller: Is a directory");
  EXPECT_EQ(fake_.Read("cgroup.procs"), self_);
  EXPECT_FALSE(fake_.Has("daemon"));
}

TEST_F(MemoryGroupsTest, TellsAKillByTheLimitFromOneForTheHost) {
  const auto groups = Open();
  const auto group = groups->Make();
  ASSERT_THAT(group, IsOk());
  const std::string events = "tree/unit/trial-1/memory.events";
  EXPECT_FALSE(group->WasKilledByItsLimit());
  fake_.Write(events, "low 0\nhigh 0\nmax 9\noom 0\noom_kill 1\n");
  EXPECT_FALSE(group->WasKilledByItsLimit());
  fake_.Write(events, "low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\n");
  EXPECT_TRUE(group->WasKilledByItsLimit());
  EXPECT_FALSE(MemoryGroup().WasKilledByItsLimit());
}

}  // namespace
}  // namespace memplan
