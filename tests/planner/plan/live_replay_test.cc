#include "planner/plan/live_replay.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "tests/planner/trace/small_trace.h"

namespace memplan {
namespace {

using ::memplan::testing::SmallTrace;

// 600 bytes take two units of 512, 100 bytes one.
RequestStream SmallStream() {
  return StreamOf(SmallTrace(
      "M step0 | O 1 aten::mm | A x 600 | A y 100 | D x | A z 700 | D y"));
}

TEST(LiveReplayTest, CountsBlocksRoundedUp) {
  const StreamOutcome outcome = ReplayLiveBytes(SmallStream(), Bytes(1536));
  EXPECT_TRUE(outcome.RunsAtEase());
  EXPECT_EQ(outcome.peaks.requested.bytes, Bytes(800));
  EXPECT_EQ(outcome.peaks.allocated.bytes, Bytes(1536));
  EXPECT_EQ(outcome.peaks.reserved.bytes, Bytes(1536));
}

TEST(LiveReplayTest, EndsAtTheFirstRequestAboveTheCap) {
  const StreamOutcome outcome = ReplayLiveBytes(SmallStream(), Bytes(1535));
  EXPECT_EQ(outcome.failed_request, 1);
  EXPECT_EQ(outcome.peaks.allocated.bytes, Bytes(1024));
}

}  // namespace
}  // namespace memplan
