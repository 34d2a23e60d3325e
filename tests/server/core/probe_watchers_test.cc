#include "server/jobs/probe_watchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace memplan {
namespace {

using ::testing::ElementsAre;

ProbeJobs::ProbePtr Version(int64_t version, const std::string& id = "a") {
  Probe probe;
  probe.id = id;
  probe.version = version;
  return std::make_shared<const Probe>(probe);
}

// The versions that a watcher heard of; 0 for the null at the end. Read it once
// the watchers have ended.
class Heard {
 public:
  ProbeWatchers::OnChange OnChange() {
    return [this](const ProbeJobs::ProbePtr& probe) {
      versions_.push_back(probe ? probe->version : 0);
    };
  }
  const std::vector<int64_t>& versions() const { return versions_; }

 private:
  std::vector<int64_t> versions_;
};

ProbeJobs::ProbePtr EndedVersion(int64_t version) {
  Probe probe = *Version(version);
  probe.state = ProbeState::kSucceeded;
  return std::make_shared<const Probe>(probe);
}

TEST(ProbeWatchersTest, TellOfTheEndOnceToWhoeverWaitsForIt) {
  ProbeWatchers watchers;
  Heard early;
  Heard late;
  Heard never;
  const auto first = watchers.AddForEnd(Version(1), early.OnChange());
  watchers.Tell(Version(2));
  watchers.Tell(EndedVersion(3));
  const auto second = watchers.AddForEnd(EndedVersion(3), late.OnChange());
  const auto third = watchers.AddForEnd(Version(1, "b"), never.OnChange());
  watchers.End();
  EXPECT_THAT(early.versions(), ElementsAre(3));
  EXPECT_THAT(late.versions(), ElementsAre(3));
  EXPECT_THAT(never.versions(), ElementsAre(0));
}

TEST(ProbeWatchersTest, TellTheStateNowAndEachChangeInOrder) {
  ProbeWatchers watchers;
  Heard heard;
  const auto handle = watchers.Add(Version(3), heard.OnChange());
  watchers.Tell(Version(4));
  watchers.Tell(Version(1, "other"));
  watchers.Tell(Version(5));
  watchers.End();
  EXPECT_THAT(heard.versions(), ElementsAre(3, 4, 5, 0));
}

TEST(ProbeWatchersTest, TellEverybodyWhoWatchesAProbe) {
  ProbeWatchers watchers;
  Heard first;
  Heard second;
  const auto first_handle = watchers.Add(Version(1), first.OnChange());
  watchers.Tell(Version(2));
  const auto second_handle = watchers.Add(Version(2), second.OnChange());
  watchers.Tell(Version(3));
  watchers.End();
  EXPECT_THAT(first.versions(), ElementsAre(1, 2, 3, 0));
  EXPECT_THAT(second.versions(), ElementsAre(2, 3, 0));
}

TEST(ProbeWatchersTest, AreQuietOnceTheHandleIsGone) {
  ProbeWatchers watchers;
  Heard heard;
  auto handle = watchers.Add(Version(1), heard.OnChange());
  handle.reset();
  const size_t before = heard.versions().size();  // 0 or 1
  watchers.Tell(Version(2));
  watchers.End();
  EXPECT_EQ(heard.versions().size(), before);
}

TEST(ProbeWatchersTest, LetTheHandleGoOnlyAfterTheCallThatRuns) {
  ProbeWatchers watchers;
  std::promise<void> called;
  std::promise<void> let_go;
  std::atomic<bool> returned = false;
  auto handle = watchers.Add(Version(1), [&](const ProbeJobs::ProbePtr& probe) {
    if (!probe) return;
    called.set_value();
    let_go.get_future().wait();
    returned = true;
  });
  called.get_future().wait();
  std::thread destroyer([&] {
    handle.reset();
    EXPECT_TRUE(returned);
  });
  let_go.set_value();
  destroyer.join();
}

TEST(ProbeWatchersTest, TellWhoComesAfterTheEndOnceAndThenTheEnd) {
  auto watchers = std::make_unique<ProbeWatchers>();
  watchers->End();
  Heard heard;
  const auto handle = watchers->Add(Version(7), heard.OnChange());
  watchers->Tell(Version(8));
  watchers.reset();  // finishes the calls
  EXPECT_THAT(heard.versions(), ElementsAre(7, 0));
}

TEST(ProbeWatchersTest, MayEndTwice) {
  ProbeWatchers watchers;
  Heard heard;
  const auto handle = watchers.Add(Version(1), heard.OnChange());
  watchers.End();
  watchers.End();
  EXPECT_THAT(heard.versions(), ElementsAre(1, 0));
}

TEST(ProbeWatchersTest, AreOutlivedByTheirHandles) {
  Heard heard;
  std::optional<ProbeWatchers> watchers(std::in_place);
  auto handle = watchers->Add(Version(1), heard.OnChange());
  watchers.reset();
  handle.reset();
  EXPECT_THAT(heard.versions(), ElementsAre(1));
}

}  // namespace
}  // namespace memplan
