#include "server/jobs/probe_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memplan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Probe Queued(const std::string& id, const std::string& device = "GPU-1") {
  Probe probe;
  probe.id = id;
  probe.spec.device_id = device;
  probe.version = 1;
  return probe;
}

class ProbeTableTest : public ::testing::Test {
 protected:
  void AddQueued(const std::vector<std::string>& ids) {
    for (const std::string& id : ids) table_.Add(Queued(id));
  }
  int Position(const std::string& id) { return table_.Get(id)->queue_position; }
  // Id and place of each change since the last call.
  std::vector<std::pair<std::string, int>> Changes() {
    std::vector<std::pair<std::string, int>> changes;
    for (const auto& probe : table_.TakeChanges()) {
      changes.emplace_back(probe->id, probe->queue_position);
    }
    return changes;
  }
  std::string Next(const std::string& device = "GPU-1") {
    const auto probe = table_.TakeNext(device);
    return probe ? probe->id : "";
  }

  ProbeTable table_;
};

TEST_F(ProbeTableTest, NumbersTheLineFromItsFront) {
  AddQueued({"a", "b", "c"});
  EXPECT_THAT(Changes(), ElementsAre(Pair("a", 0), Pair("b", 1), Pair("c", 2)));
}

TEST_F(ProbeTableTest, TakesOneAtATimeInOrder) {
  AddQueued({"b", "a"});
  EXPECT_EQ(Next(), "b");
  EXPECT_EQ(Next(), "") << "the device is busy";
  table_.Release("GPU-1");
  EXPECT_EQ(Next(), "a");
  table_.Release("GPU-1");
  EXPECT_EQ(Next(), "");
}

TEST_F(ProbeTableTest, OneThatMayRunPassesThoseThatMayNot) {
  AddQueued({"a", "b", "c"});
  (void)Changes();
  const auto taken = table_.TakeNext(
      "GPU-1", [](const Probe& probe) { return probe.id == "b"; });
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(taken->id, "b");
  EXPECT_EQ(Position("a"), 1);
  EXPECT_EQ(Position("c"), 2);
  table_.Release("GPU-1");
  EXPECT_EQ(Next(), "a") << "the first in line comes first again";
}

TEST_F(ProbeTableTest, SaysWhatAProbeWaitsForOnceAChange) {
  AddQueued({"a", "b"});
  (void)Changes();
  const WaitingFor room = {WaitingReason::kRoom, "1 GiB left"};
  table_.SetWaitingFor("a", room);
  table_.SetWaitingFor("a", room);
  EXPECT_THAT(Changes(), ElementsAre(Pair("a", 0)));
  EXPECT_EQ(table_.Get("a")->waiting_for, room);
  EXPECT_EQ(table_.Get("a")->version, 2);
  EXPECT_THAT(table_.CountWaiting(),
              ElementsAre(Pair(WaitingReason::kRoom, 1)));
}

TEST_F(ProbeTableTest, CountsTheOneThatIsTakenAsBeforeTheOthers) {
  AddQueued({"a", "b"});
  (void)Changes();
  EXPECT_EQ(Next(), "a");
  EXPECT_THAT(Changes(), IsEmpty());
  table_.Add(Queued("c"));
  EXPECT_EQ(Position("c"), 2);
  (void)Changes();
  table_.Release("GPU-1");
  EXPECT_THAT(Changes(), ElementsAre(Pair("b", 0), Pair("c", 1)));
  EXPECT_EQ(table_.Get("b")->version, 2);
}

TEST_F(ProbeTableTest, HasALineForEachDevice) {
  table_.Add(Queued("a", "GPU-1"));
  table_.Add(Queued("b", "cpu"));
  EXPECT_EQ(Position("b"), 0);
  EXPECT_EQ(Next("GPU-1"), "a");
  EXPECT_EQ(Next("cpu"), "b");
}

TEST_F(ProbeTableTest, MovesTheOthersUpWhenOneLeaves) {
  AddQueued({"a", "b", "c"});
  (void)Changes();
  EXPECT_TRUE(table_.LeaveLine("b"));
  EXPECT_THAT(Changes(), ElementsAre(Pair("c", 1)));
  EXPECT_FALSE(table_.LeaveLine("b"));
  EXPECT_FALSE(table_.LeaveLine("nobody"));
}

TEST_F(ProbeTableTest, PutsOneThatLeftBackInItsPlace) {
  AddQueued({"a", "b", "c"});
  EXPECT_TRUE(table_.LeaveLine("a"));
  table_.RejoinLine("a");
  EXPECT_EQ(Position("a"), 0);
  EXPECT_EQ(Position("b"), 1);
  EXPECT_EQ(Next(), "a");
}

TEST_F(ProbeTableTest, OneThatWasTakenIsNotInLine) {
  AddQueued({"a"});
  EXPECT_EQ(Next(), "a");
  EXPECT_FALSE(table_.LeaveLine("a"));
}

TEST_F(ProbeTableTest, KeepsEndedProbesOutOfLine) {
  Probe ended = Queued("a");
  ended.state = ProbeState::kSucceeded;
  table_.Add(ended);
  EXPECT_EQ(Next(), "");
  EXPECT_EQ(table_.CountIn(ProbeState::kSucceeded), 1);
  EXPECT_EQ(table_.CountIn(ProbeState::kQueued), 0);
}

TEST_F(ProbeTableTest, ListsTheNewestFirst) {
  AddQueued({"b", "a", "c"});
  std::vector<std::string> ids;
  for (const auto& probe : table_.NewestFirst()) ids.push_back(probe->id);
  EXPECT_THAT(ids, ElementsAre("c", "a", "b"));
}

TEST_F(ProbeTableTest, FindsAProbeByItsRequest) {
  Probe probe = Queued("a");
  probe.request_id = "r1";
  table_.Add(probe);
  AddQueued({"b"});
  EXPECT_EQ(table_.WithRequestId("r1")->id, "a");
  EXPECT_EQ(table_.WithRequestId("r2"), nullptr);
  EXPECT_EQ(table_.WithRequestId(""), nullptr);
}

TEST_F(ProbeTableTest, ForgetsAProbeWithItsRequest) {
  Probe probe = Queued("a");
  probe.request_id = "r1";
  probe.state = ProbeState::kFailed;
  table_.Add(probe);
  table_.Erase("a");
  table_.Erase("a");
  EXPECT_EQ(table_.Get("a"), nullptr);
  EXPECT_EQ(table_.WithRequestId("r1"), nullptr);
  EXPECT_THAT(table_.NewestFirst(), IsEmpty());
}

TEST_F(ProbeTableTest, GivesOutTheNewVersionAndLeavesTheOldAlone) {
  AddQueued({"a"});
  const auto old = table_.TakeNext("GPU-1");
  Probe next = *old;
  next.state = ProbeState::kRunning;
  table_.Update(next);
  EXPECT_EQ(old->state, ProbeState::kQueued);
  EXPECT_EQ(table_.Get("a")->state, ProbeState::kRunning);
}

}  // namespace
}  // namespace memplan
