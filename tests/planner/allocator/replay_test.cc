#include "planner/allocator/replay.h"

#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/allocator/block_map.h"
#include "planner/allocator/recorded_addresses.h"
#include "planner/base/format.h"
#include "planner/trace/text_format.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kMiB = 1 << 20;

Trace Read(const std::string& text) {
  auto trace = ReadTraceText(text);
  EXPECT_THAT(trace, IsOk());
  return trace.ok() ? *std::move(trace) : Trace();
}

std::string Alloc(int64_t mebibytes, const std::string& address,
                  const std::string& name = "aten::empty") {
  return "A\t" + std::to_string(mebibytes * kMiB) + "\t" + address + "\t" +
         name + "\n";
}

// load keeps 12 MiB; step0 adds 14 and gives them back; step1 adds 30.
const char kLoad[] = "M\tload\n";
const char kStep0[] = "M\tstep0\n";
const char kStep1[] = "M\tstep1\n";

std::string ThreePhases() {
  return kLoad + Alloc(12, "10000000") + kStep0 + Alloc(14, "20000000") +
         "D\t20000000\n" + kStep1 + Alloc(30, "30000000");
}

TEST(ReplayTest, TellsPeaksOfEachPhaseAndTheirEvents) {
  DescendingAddresses addresses;
  const auto report = ReplayTrace(Read(ThreePhases()), {}, addresses);
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->end, ReplayEnd::kOk);
  ASSERT_THAT(report->phases, SizeIs(3));
  EXPECT_EQ(report->phases[0].name, "load");
  EXPECT_EQ(report->phases[0].peaks.allocated.bytes, MiB(12));
  EXPECT_EQ(report->phases[1].peaks.allocated, (Peak{MiB(26), 3}));
  EXPECT_EQ(report->phases[1].peaks.reserved, (Peak{MiB(26), 3}));
  EXPECT_EQ(report->phases[1].allocated_at_end, MiB(12));
  EXPECT_EQ(report->phases[2].peaks.allocated, (Peak{MiB(42), 6}));
  EXPECT_EQ(report->peaks.allocated, (Peak{MiB(42), 6}));
  EXPECT_EQ(report->peaks.reserved, (Peak{MiB(56), 6}));
  EXPECT_EQ(report->at_peak_allocated().bytes(), MiB(14));
  EXPECT_EQ(report->at_peak_allocated().ratio(), 0.25);
  EXPECT_EQ(report->counters.reserved_bytes.all.peak, 56 * kMiB);
  EXPECT_EQ(report->first_moved, 1);
}

// Under 46 MiB the 14 of step0 go back for the 30 of step1: 12 + 30.
TEST(ReplayTest, CountsRetriesInTheirPhase) {
  DescendingAddresses addresses;
  AllocatorConditions conditions;
  conditions.cap = MiB(46);
  const auto report = ReplayTrace(Read(ThreePhases()), conditions, addresses);
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->end, ReplayEnd::kOk);
  EXPECT_EQ(report->retries, 1);
  EXPECT_EQ(report->segments_freed, 1);
  EXPECT_EQ(report->phases[1].retries, 0);
  EXPECT_EQ(report->phases[2].retries, 1);
  EXPECT_EQ(report->phases[2].segments_freed, 1);
  EXPECT_EQ(report->peaks.reserved.bytes, MiB(42));
}

TEST(ReplayTest, EndsAtTheFirstFailureThatNothingCatches) {
  DescendingAddresses addresses;
  AllocatorConditions conditions;
  conditions.cap = MiB(40);
  const Trace trace = Read(ThreePhases() + Alloc(2, "50000000"));
  const auto report = ReplayTrace(trace, conditions, addresses);
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->end, ReplayEnd::kOutOfMemory);
  EXPECT_EQ(report->failed_request, 6);
  EXPECT_THAT(report->failed_requests,
              ElementsAre(FailedRequest{6, MiB(30), "aten::empty"}));
  EXPECT_EQ(report->phases[2].failed_requests, 1);
  EXPECT_EQ(report->phases[2].end_event, 7);
}

TEST(ReplayTest, GoesOnAfterAConvolutionsFailure) {
  DescendingAddresses addresses;
  AllocatorConditions conditions;
  conditions.cap = MiB(40);
  const Trace trace = Read(Alloc(12, "10000000") +
                           Alloc(30, "30000000", "aten::cudnn_convolution") +
                           Alloc(14, "50000000") + "D\t30000000\n");
  const auto report = ReplayTrace(trace, conditions, addresses);
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->end, ReplayEnd::kOk);
  EXPECT_EQ(report->failed_request, std::nullopt);
  ASSERT_THAT(report->failed_requests, SizeIs(1));
  EXPECT_TRUE(report->failed_requests[0].is_caught);
  EXPECT_EQ(report->peaks.allocated.bytes, MiB(26));
}

TEST(ReplayTest, TriesRecordedFailuresAndGoesOn) {
  DescendingAddresses addresses;
  AllocatorConditions conditions;
  conditions.cap = MiB(40);
  const Trace trace =
      Read(Alloc(12, "10000000") + "X\t41943040\taten::mm\nD\t10000000\n" +
           Alloc(14, "50000000"));
  auto report = ReplayTrace(trace, conditions, addresses);
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->end, ReplayEnd::kOutOfMemory);
  EXPECT_EQ(report->failed_request, 1);
  EXPECT_TRUE(report->failed_requests[0].was_recorded);
  EXPECT_EQ(report->counters.allocation.all.allocated, 2);

  report = ReplayTrace(trace, {}, addresses);
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->end, ReplayEnd::kOk);
  EXPECT_EQ(report->served_failures, 1);
  EXPECT_THAT(report->failed_requests, IsEmpty());
}

TEST(ReplayTest, EmptiesTheCacheWhereTheTraceDoes) {
  DescendingAddresses addresses;
  const auto report = ReplayTrace(
      Read(Alloc(12, "10000000") + "D\t10000000\nE\n" + Alloc(14, "10000000")),
      {}, addresses);
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->peaks.reserved.bytes, MiB(14));
  EXPECT_EQ(report->segments_freed, 1);
}

// The release waits for the device, so the block's own D comes after its free.
TEST(ReplayTest, CompletesRequestedFreesAtARelease) {
  DescendingAddresses addresses;
  AllocatorConditions conditions;
  conditions.cap = MiB(20);
  const auto report =
      ReplayTrace(Read(Alloc(12, "10000000") + "F\t10000000\n" +
                       Alloc(14, "30000000") + "D\t10000000\nD\t30000000\n"),
                  conditions, addresses);
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->end, ReplayEnd::kOk);
  EXPECT_EQ(report->retries, 1);
  EXPECT_EQ(report->counters.active.all.current, 0);
}

TEST(ReplayTest, ShowsTheBlocksAtAnyEvent) {
  DescendingAddresses addresses;
  CachingAllocator allocator({}, addresses);
  TraceReplay replay(allocator);
  const Trace trace = Read(Alloc(12, "10000000") + Alloc(13, "20000000"));
  ASSERT_THAT(replay.Run(trace, {.end_event = 1}), IsOk());
  const uint64_t top = uint64_t{1} << 62;
  EXPECT_THAT(MapBlocks(allocator),
              ElementsAre(MappedSegment{top - 12 * kMiB,
                                        MiB(12),
                                        0,
                                        false,
                                        {{top - 12 * kMiB, MiB(12), MiB(12),
                                          BlockState::kAllocated}}}));
  ASSERT_THAT(replay.Run(trace), IsOk());
  EXPECT_THAT(MapBlocks(allocator), SizeIs(2));
}

TEST(ReplayTest, RefusesRecordedAddressesUnderOtherSettings) {
  const Trace trace = Read("S\t20971520\t10000000\n" + Alloc(2, "10000000"));
  RecordedAddresses addresses(trace);
  EXPECT_THAT(ReplayTrace(trace, {}, addresses), IsOk());
  AllocatorConditions conditions;
  conditions.settings.large_segment_size = MiB(30);
  EXPECT_THAT(ReplayTrace(trace, conditions, addresses),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("use descending, ascending")));
}

// Traces that no TraceBuilder made.
TEST(ReplayTest, RefusesInconsistentTraces) {
  DescendingAddresses addresses;
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  Trace trace;
  trace.events.push_back({.kind = EventKind::kFree, .link = 0});
  EXPECT_THAT(ReplayTrace(trace, {}, addresses),
              StatusIs(kInvalid, HasSubstr("event 0: it frees a block")));
  trace.blocks.resize(1);
  EXPECT_THAT(ReplayTrace(trace, {}, addresses),
              StatusIs(kInvalid, HasSubstr("event 0: it frees a block")));
  trace.events = {{.kind = EventKind::kAlloc, .link = 0, .bytes = 512},
                  {.kind = EventKind::kAlloc, .link = 0, .bytes = 512}};
  EXPECT_THAT(ReplayTrace(trace, {}, addresses),
              StatusIs(kInvalid, HasSubstr("event 1: its block was handed")));
  trace.events = {
      {.kind = EventKind::kAlloc, .link = 0, .stream = 1, .bytes = 512}};
  EXPECT_THAT(ReplayTrace(trace, {}, addresses),
              StatusIs(kInvalid, HasSubstr("does not have its stream")));
  trace.events = {{.kind = EventKind::kAlloc, .link = 0, .bytes = 512},
                  {.kind = EventKind::kFree, .link = 0},
                  {.kind = EventKind::kFree, .link = 0}};
  EXPECT_THAT(ReplayTrace(trace, {}, addresses),
              StatusIs(kInvalid, HasSubstr("event 2: it frees a block")));
  trace.streams.resize(5000);
  EXPECT_THAT(ReplayTrace(trace, {}, addresses),
              StatusIs(kInvalid, HasSubstr("at most 1024")));
}

}  // namespace
}  // namespace memplan
