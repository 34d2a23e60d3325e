#include "server/jobs/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memplan {
namespace {

using std::chrono::hours;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Time kNow{hours(1000)};

std::shared_ptr<const Probe> Ended(const std::string& id, int hours_ago) {
  Probe probe;
  probe.id = id;
  probe.state = ProbeState::kSucceeded;
  probe.end_time = kNow - hours(hours_ago);
  return std::make_shared<const Probe>(std::move(probe));
}

std::shared_ptr<const Probe> NotEnded(const std::string& id, ProbeState state) {
  Probe probe;
  probe.id = id;
  probe.state = state;
  return std::make_shared<const Probe>(std::move(probe));
}

TEST(RetentionTest, KeepsTheLastToEnd) {
  const std::vector probes = {Ended("a", 3), Ended("b", 1), Ended("c", 2)};
  EXPECT_THAT(ProbesToForget(probes, {.keep_probes = 2}, kNow),
              ElementsAre("a"));
}

TEST(RetentionTest, ForgetsByAge) {
  const std::vector probes = {Ended("a", 5), Ended("b", 4), Ended("c", 6)};
  EXPECT_THAT(
      ProbesToForget(probes, {.keep_probes = 9, .keep_probes_for = hours(4)},
                     kNow),
      ElementsAre("a", "c"));
}

TEST(RetentionTest, NeverForgetsWhatHasNotEnded) {
  const std::vector probes = {NotEnded("a", ProbeState::kRunning),
                              NotEnded("b", ProbeState::kQueued)};
  EXPECT_THAT(
      ProbesToForget(probes, {.keep_probes = 1, .keep_probes_for = hours(0)},
                     kNow),
      IsEmpty());
}

}  // namespace
}  // namespace memplan
