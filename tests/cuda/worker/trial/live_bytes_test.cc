#include "cuda/worker/trial/live_bytes.h"

#include <gtest/gtest.h>

#include <optional>

namespace memplan::gpu {
namespace {

TEST(RoundedToUnitsTest, GivesWholeUnits) {
  EXPECT_EQ(RoundedToUnits(Bytes(1)), Bytes(512));
  EXPECT_EQ(RoundedToUnits(Bytes(512)), Bytes(512));
  EXPECT_EQ(RoundedToUnits(Bytes(513)), Bytes(1024));
}

TEST(LiveBytesTest, CountsRequestedExactlyAndAllocatedInUnits) {
  LiveBytes live(std::nullopt);
  EXPECT_TRUE(live.Take(Bytes(100)));
  EXPECT_TRUE(live.Take(Bytes(600)));
  EXPECT_EQ(live.requested(), Bytes(700));
  EXPECT_EQ(live.allocated(), Bytes(512 + 1024));
  live.Give(Bytes(100));
  live.Give(Bytes(600));
  EXPECT_EQ(live.requested(), Bytes(0));
  EXPECT_EQ(live.allocated(), Bytes(0));
}

TEST(LiveBytesTest, AllowsTheCapItselfAndNotAByteMore) {
  LiveBytes live(Bytes(1024));
  EXPECT_TRUE(live.Take(Bytes(1)));
  EXPECT_TRUE(live.Take(Bytes(512)));  // 1,024 allocated: the cap
  EXPECT_FALSE(live.Take(Bytes(1)));
  EXPECT_EQ(live.failed_requests(), 1);
  EXPECT_EQ(live.allocated(), Bytes(1024));
}

TEST(LiveBytesTest, RefusesARequestLargerThanAnyCap) {
  LiveBytes live(Bytes(1024));
  EXPECT_FALSE(live.Take(GiB(int64_t{1} << 30)));
}

TEST(LiveBytesTest, KeepsPeaksUntilTheyAreReset) {
  LiveBytes live(std::nullopt);
  live.Take(Bytes(1000));
  live.Take(Bytes(10));
  live.Give(Bytes(1000));
  const Peaks before = {.requested = Bytes(1010),
                        .allocated = Bytes(1536),
                        .active = Bytes(1536),
                        .reserved = std::nullopt};
  EXPECT_EQ(live.peaks(), before);
  live.ResetPeaks();
  const Peaks after = {.requested = Bytes(10),
                       .allocated = Bytes(512),
                       .active = Bytes(512),
                       .reserved = std::nullopt};
  EXPECT_EQ(live.peaks(), after);
}

TEST(LiveBytesTest, KeepsRequestedAndAllocatedPeaksOfDifferentMoments) {
  LiveBytes live(std::nullopt);
  live.Take(Bytes(512));  // 512 requested, 512 allocated
  live.Give(Bytes(512));
  live.Take(Bytes(1));
  live.Take(Bytes(1));  // 2 requested, 1,024 allocated
  EXPECT_EQ(live.peaks().requested, Bytes(512));
  EXPECT_EQ(live.peaks().allocated, Bytes(1024));
}

}  // namespace
}  // namespace memplan::gpu
