#include "cuda/worker/trial/call_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "tests/support/status_matchers.h"

namespace memplan::gpu {
namespace {

using ::memplan::testing::IsOk;
using ::testing::ElementsAre;

constexpr int64_t kMega = 1 << 20;

TraceRecord Event(TraceEvent event, int64_t bytes, uint64_t address) {
  return {.event = event,
          .reserved = 0,
          .depth = 1,
          .name = kNoName,
          .bytes = static_cast<uint64_t>(bytes),
          .address = address,
          .stream = 0};
}

TraceRecord Alloc(int64_t bytes, uint64_t address) {
  return Event(TraceEvent::kAlloc, bytes, address);
}
TraceRecord Free(int64_t bytes, uint64_t address) {
  return Event(TraceEvent::kFree, bytes, address);
}
TraceRecord Segment(int64_t bytes, uint64_t address) {
  return Event(TraceEvent::kSegmentAlloc, bytes, address);
}

TEST(PlanOfEventsTest, NumbersRequestsAndLeavesOutWhatWasThereBefore) {
  const std::vector<TraceRecord> events = {Alloc(1000, 0x10), Free(64, 0x99),
                                           Alloc(500, 0x20),  Free(500, 0x20),
                                           Alloc(300, 0x20),  Free(300, 0x20)};
  const CallPlan plan = PlanOfEvents(events);
  EXPECT_THAT(plan,
              ElementsAre(CallStep{0, 1000}, CallStep{1, 500}, CallStep{1, 0},
                          CallStep{2, 300}, CallStep{2, 0}));
  EXPECT_THAT(CheckCallPlan(plan, 1), IsOk());
}

TEST(PlanOfEventsTest, TakesOnlyRequestsThatSucceeded) {
  const std::vector<TraceRecord> events = {
      Alloc(1000, 0x10),
      Event(TraceEvent::kFailedRequest, 5000, 0),
      Segment(2 * kMega, 0x20),
      Alloc(400, 0x20),
      Event(TraceEvent::kFreeRequested, 400, 0x20),
      Free(400, 0x20)};
  EXPECT_THAT(PlanOfEvents(events),
              ElementsAre(CallStep{0, 1000}, CallStep{1, 400}, CallStep{1, 0}));
}

TEST(RefusingCapTest, IsOneByteLessThanTheScratchsSegmentMakesOfIt) {
  const std::vector<TraceRecord> events = {
      Segment(20 * kMega, 0x10), Alloc(6 * kMega, 0x10),
      Segment(32 * kMega, 0x20), Alloc(31 * kMega, 0x20),
      Free(31 * kMega, 0x20)};
  EXPECT_EQ(RefusingCap(MiB(8), events), MiB(60) - Bytes(1));
}

TEST(RefusingCapTest, RefusesTheLargestOfTwoScratches) {
  // The first's segment has gone back to the driver before the second's came.
  const std::vector<TraceRecord> events = {
      Segment(12 * kMega, 0x10),
      Alloc(12 * kMega, 0x10),
      Free(12 * kMega, 0x10),
      Event(TraceEvent::kSegmentFree, 12 * kMega, 0x10),
      Segment(40 * kMega, 0x20),
      Alloc(40 * kMega, 0x20),
      Free(40 * kMega, 0x20)};
  EXPECT_EQ(RefusingCap(MiB(8), events), MiB(48) - Bytes(1));
}

TEST(RefusingCapTest, DoesNotCountWhatGoesBackBeforeAnythingIsRefused) {
  // convolution_backward: the segment of the first scratch is kept, all free.
  const std::vector<TraceRecord> events = {
      Segment(50 * kMega, 0x10000000),  Alloc(49 * kMega, 0x10000000),
      Segment(246 * kMega, 0x20000000), Alloc(244 * kMega, 0x20000000),
      Free(244 * kMega, 0x20000000),    Segment(254 * kMega, 0x30000000),
      Alloc(252 * kMega, 0x30000000),   Free(252 * kMega, 0x30000000)};
  EXPECT_EQ(RefusingCap(MiB(8), events), MiB(8 + 50 + 254) - Bytes(1));
}

TEST(RefusingCapTest, RefusesTheSegmentThatTwoScratchesTakeInTurn) {
  // convolution_backward of a U-Net at batch 48, 3x3 and 64 channels: both of its
  // scratches are 618659840 bytes in whole 2 MiB, so the second takes the segment
  // of the first.
  constexpr int64_t kOutput = 308281344;
  constexpr int64_t kSegment = 618659840;
  const std::vector<TraceRecord> events = {
      Segment(kOutput, 0x100000000),  Alloc(kOutput, 0x100000000),
      Segment(kSegment, 0x200000000), Alloc(616636563, 0x200000000),
      Free(616636563, 0x200000000),   Segment(2 * kMega, 0x300000000),
      Alloc(73728, 0x300000000),      Alloc(618554023, 0x200000000),
      Free(618554023, 0x200000000)};
  EXPECT_EQ(RefusingCap(MiB(8), events),
            MiB(8) + Bytes(kOutput + kSegment - 1));
}

TEST(RefusingCapTest, RefusesThePieceThatTwoScratchesTakeInTurn) {
  // The last piece of an expandable segment, behind an output.
  const auto map = [](int64_t bytes, uint64_t address) {
    return Event(TraceEvent::kSegmentMap, bytes, address);
  };
  const std::vector<TraceRecord> events = {
      map(20 * kMega, 0x10000000),
      Alloc(20 * kMega, 0x10000000),
      map(40 * kMega, 0x10000000 + 20 * kMega),
      Alloc(30 * kMega, 0x10000000 + 20 * kMega),
      Free(30 * kMega, 0x10000000 + 20 * kMega),
      Alloc(40 * kMega, 0x10000000 + 20 * kMega),
      Free(40 * kMega, 0x10000000 + 20 * kMega)};
  EXPECT_EQ(RefusingCap(MiB(8), events), MiB(68) - Bytes(1));
}

TEST(RefusingCapTest, IsNoneWhereAnOutputTookItsPlaceBesideTheScratch) {
  // The segment came for scratch, but the output needs it as well.
  const std::vector<TraceRecord> events = {
      Segment(20 * kMega, 0x10000000),
      Alloc(3 * kMega, 0x10000000),
      Free(3 * kMega, 0x10000000),
      Alloc(2 * kMega, 0x10000000),
      Alloc(4 * kMega, 0x10000000 + 2 * kMega),
      Free(4 * kMega, 0x10000000 + 2 * kMega)};
  EXPECT_EQ(RefusingCap(MiB(8), events), std::nullopt);
}

TEST(RefusingCapTest, IsNoneInASegmentOfBefore) {
  // One of the cache, which a call's arguments left.
  const std::vector<TraceRecord> events = {
      Segment(20 * kMega, 0x10000000), Alloc(20 * kMega, 0x10000000),
      Alloc(30 * kMega, 0x20000000), Free(30 * kMega, 0x20000000)};
  EXPECT_EQ(RefusingCap(MiB(8), events), std::nullopt);
}

TEST(RefusingCapTest, CountsBlocksWhereThereAreNoSegments) {
  // 1000 bytes are two units of 512, 700 too.
  const std::vector<TraceRecord> events = {Alloc(1000, 0x10), Alloc(700, 0x20),
                                           Free(700, 0x20)};
  EXPECT_EQ(RefusingCap(Bytes(512), events), Bytes(512 + 1024 + 1024 - 1));
}

TEST(RefusingCapTest, IsNoneWithoutScratchThatTakesFromTheDevice) {
  const std::vector<TraceRecord> outputs = {Segment(2 * kMega, 0x10),
                                            Alloc(1000, 0x10)};
  EXPECT_EQ(RefusingCap(MiB(8), outputs), std::nullopt);
  // It lies in the output's segment.
  const std::vector<TraceRecord> shared = {Segment(2 * kMega, 0x10),
                                           Alloc(1000, 0x10), Alloc(700, 0x410),
                                           Free(700, 0x410)};
  EXPECT_EQ(RefusingCap(MiB(8), shared), std::nullopt);
}

}  // namespace
}  // namespace memplan::gpu
