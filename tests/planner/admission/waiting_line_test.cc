#include "planner/admission/waiting_line.h"

#include <gtest/gtest.h>

namespace memplan {
namespace {

TEST(WaitingLineTest, MayBePassedForAWhileAndThenHoldsItsDevice) {
  WaitingLine line;
  const auto first = line.Add(absl::Seconds(100), {"GPU-a"});
  EXPECT_FALSE(line.IsHeld("GPU-a", absl::Seconds(109)));
  EXPECT_TRUE(line.IsHeld("GPU-a", absl::Seconds(110)));
  EXPECT_FALSE(line.IsHeld("GPU-b", absl::Seconds(110)));
  EXPECT_FALSE(line.IsHeld("GPU-a", absl::Seconds(110), first));
  line.Remove(first);
  EXPECT_FALSE(line.IsHeld("GPU-a", absl::Seconds(110)));
}

TEST(WaitingLineTest, WhoComesLaterStandsBehindWhoeverMayNotBePassed) {
  WaitingLine line;
  const auto first = line.Add(absl::Seconds(100), {"GPU-a"});
  const auto second = line.Add(absl::Seconds(101), {"GPU-a", "GPU-b"});
  const auto third = line.Add(absl::Seconds(102), {"GPU-b"});
  EXPECT_TRUE(line.IsHeld("GPU-a", absl::Seconds(110), second));
  EXPECT_FALSE(line.IsHeld("GPU-b", absl::Seconds(110), third));
  EXPECT_TRUE(line.IsHeld("GPU-b", absl::Seconds(111), third));
  EXPECT_EQ(line.InOrder(),
            (std::vector<WaitingLine::Ticket>{first, second, third}));
}

TEST(WaitingLineTest, WhoComesBackKeepsItsPlace) {
  WaitingLine line;
  const auto early = line.Add(absl::Seconds(100), {"GPU-a"});
  const auto late = line.Add(absl::Seconds(105), {"GPU-a"});
  line.Remove(early);
  const auto back = line.Add(early.first, {"GPU-a"});
  EXPECT_EQ(line.InOrder(), (std::vector<WaitingLine::Ticket>{back, late}));
}

}  // namespace
}  // namespace memplan
