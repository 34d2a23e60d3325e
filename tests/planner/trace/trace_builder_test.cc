#include "planner/trace/trace_builder.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TraceEntry Operator(int64_t depth, std::string_view name) {
  return {.kind = EventKind::kOperator, .name = name, .depth = depth};
}
TraceEntry Alloc(int64_t bytes, uint64_t address, std::string_view name = "") {
  return {.kind = EventKind::kAlloc,
          .bytes = bytes,
          .address = address,
          .name = name};
}
TraceEntry At(EventKind kind, uint64_t address, int64_t bytes = 0) {
  return {.kind = kind, .bytes = bytes, .address = address};
}

TEST(TraceBuilderTest, LinksFreesToTheirBlocks) {
  TraceBuilder builder;
  ASSERT_THAT(builder.Add(Alloc(512, 0x1000)), IsOk());
  ASSERT_THAT(builder.Add(Alloc(64, 0x2000)), IsOk());
  ASSERT_THAT(builder.Add(At(EventKind::kFreeRequested, 0x1000)), IsOk());
  ASSERT_THAT(builder.Add(At(EventKind::kFree, 0x1000)), IsOk());
  ASSERT_THAT(builder.Add(Alloc(512, 0x1000)), IsOk());
  const auto trace = builder.Build();
  ASSERT_THAT(trace, IsOk());
  EXPECT_THAT(trace->blocks,
              ElementsAre(TraceBlock{0, 2, 3}, TraceBlock{1, kNoId, kNoId},
                          TraceBlock{4, kNoId, kNoId}));
  EXPECT_EQ(trace->events[3].link, 0);
  EXPECT_EQ(trace->events[4].link, 2);
}

TEST(TraceBuilderTest, FindsTheDepthOfTheOperatorThatAsked) {
  TraceBuilder builder;
  ASSERT_THAT(builder.Add(Operator(1, "linear")), IsOk());
  ASSERT_THAT(builder.Add(Operator(2, "copy")), IsOk());
  ASSERT_THAT(builder.Add(Operator(3, "copy")), IsOk());
  ASSERT_THAT(builder.Add(Alloc(8, 0x100, "copy")), IsOk());
  ASSERT_THAT(builder.Add(Alloc(8, 0x200, "linear")), IsOk());
  ASSERT_THAT(builder.Add(Alloc(8, 0x300, "elsewhere")), IsOk());
  TraceEntry told = Alloc(8, 0x400, "copy");
  told.depth = 2;
  ASSERT_THAT(builder.Add(told), IsOk());
  told = Alloc(8, 0x500, "copy");
  told.depth = 1;  // linear's
  ASSERT_THAT(builder.Add(told), IsOk());
  const auto trace = builder.Build();
  ASSERT_THAT(trace, IsOk());
  EXPECT_EQ(trace->events[3].depth, 3);
  EXPECT_EQ(trace->events[4].depth, 1);
  EXPECT_EQ(trace->events[5].depth, 0);
  EXPECT_EQ(trace->events[6].depth, 2);
  EXPECT_EQ(trace->events[7].depth, 3);
}

TEST(TraceBuilderTest, NamesTheEventThatCannotBe) {
  TraceBuilder builder;
  ASSERT_THAT(builder.Add(Alloc(0x1000, 0x1000)), IsOk());
  EXPECT_THAT(builder.Add(Alloc(1, 0x1fff)),
              StatusIs(kInvalid, HasSubstr("event 1: the block [1fff, 2000) "
                                           "overlaps the one of event 0")));
  EXPECT_THAT(builder.Add(Alloc(0x2000, 0x800)),
              StatusIs(kInvalid, HasSubstr("overlaps the one of event 0")));
  EXPECT_THAT(builder.Add(At(EventKind::kFree, 0x1200)),
              StatusIs(kInvalid, HasSubstr("event 1: a free at 1200, where no "
                                           "block was handed out")));
  ASSERT_THAT(builder.Add(At(EventKind::kFree, 0x1000)), IsOk());
  EXPECT_THAT(builder.Add(At(EventKind::kFree, 0x1000)),
              StatusIs(kInvalid, HasSubstr("freed twice; event 1")));
  EXPECT_THAT(builder.Add(At(EventKind::kFreeRequested, 0x1000)),
              StatusIs(kInvalid, HasSubstr("freed twice; event 1")));
}

TEST(TraceBuilderTest, RefusesASecondRequestToFree) {
  TraceBuilder builder;
  ASSERT_THAT(builder.Add(Alloc(8, 0x100)), IsOk());
  ASSERT_THAT(builder.Add(At(EventKind::kFreeRequested, 0x100)), IsOk());
  EXPECT_THAT(builder.Add(At(EventKind::kFreeRequested, 0x100)),
              StatusIs(kInvalid, HasSubstr("the first is event 1")));
}

TEST(TraceBuilderTest, RefusesBlocksOutsideSegments) {
  TraceBuilder builder;
  ASSERT_THAT(builder.Add(At(EventKind::kSegmentAlloc, 0x1000, 0x1000)),
              IsOk());
  ASSERT_THAT(builder.Add(Alloc(0x1000, 0x1000)), IsOk());
  EXPECT_THAT(builder.Add(Alloc(8, 0x2000)),
              StatusIs(kInvalid, HasSubstr("lies in no segment")));
  EXPECT_THAT(builder.Add(At(EventKind::kSegmentFree, 0x1000, 0x1000)),
              StatusIs(kInvalid, HasSubstr("of event 1, has not been freed")));
}

TEST(TraceBuilderTest, RefusesSizesOutOfRange) {
  TraceBuilder builder;
  constexpr int64_t kEiB = int64_t{1} << 60;
  for (const int64_t bytes : {int64_t{-1}, int64_t{0}, kEiB + 1, INT64_MIN}) {
    EXPECT_THAT(builder.Add(Alloc(bytes, 0x1000)),
                StatusIs(kInvalid, HasSubstr("it must be in 1 …")));
    EXPECT_THAT(builder.Add(At(EventKind::kSegmentAlloc, 0x1000, bytes)),
                StatusIs(kInvalid, HasSubstr("it must be in 1 …")));
  }
  EXPECT_THAT(builder.Add(Alloc(kEiB, 0x1000)), IsOk());
  EXPECT_THAT(builder.Add(Alloc(2, UINT64_MAX - 1)),
              StatusIs(kInvalid, HasSubstr("pass the end of memory")));
}

TEST(TraceBuilderTest, BoundsTheDepthOfOperators) {
  TraceBuilder builder;
  for (const int64_t depth : {0, -1, 65536, 1'000'000}) {
    EXPECT_THAT(
        builder.Add(Operator(depth, "add")),
        StatusIs(kInvalid, HasSubstr("operators nest from 1 to 65535")));
  }
  EXPECT_THAT(builder.Add(Operator(65535, "add")), IsOk());
}

TEST(TraceBuilderTest, RefusesNamesOfMoreThanOneLine) {
  TraceBuilder builder;
  EXPECT_THAT(builder.Add(Operator(1, "a\nb")),
              StatusIs(kInvalid, HasSubstr("control character")));
  EXPECT_THAT(builder.Add(Operator(1, "a\tb")),
              StatusIs(kInvalid, HasSubstr("control character")));
  EXPECT_THAT(builder.Add({.kind = EventKind::kPhase}),
              StatusIs(kInvalid, HasSubstr("a phase without a name")));
}

TEST(TraceBuilderTest, RefusesAnEmptyTrace) {
  EXPECT_THAT(TraceBuilder().Build(),
              StatusIs(kInvalid, HasSubstr("the trace is empty")));
}

TEST(TraceBuilderTest, KeepsStreamHandlesOnce) {
  TraceBuilder builder;
  for (uint64_t i = 1; i <= 4; ++i) {
    TraceEntry entry = Alloc(8, i * 0x100);
    entry.stream = i % 2 * 0xabc;
    ASSERT_THAT(builder.Add(entry), IsOk());
  }
  const auto trace = builder.Build();
  ASSERT_THAT(trace, IsOk());
  EXPECT_THAT(trace->streams, ElementsAre(0, 0xabc));
  EXPECT_EQ(trace->events[0].stream, 1);
  EXPECT_EQ(trace->events[1].stream, 0);
}

TEST(TraceBuilderTest, TakesSignaturesRightAfterTheirOperator) {
  TraceBuilder builder;
  EXPECT_THAT(builder.AddSignature({}),
              StatusIs(kInvalid, HasSubstr("does not follow on its operator")));
  ASSERT_THAT(builder.Add(Operator(1, "add")), IsOk());
  EXPECT_THAT(builder.AddSignature({}), IsOk());
  EXPECT_THAT(builder.AddSignature({}),
              StatusIs(kInvalid, HasSubstr("a second signature")));
}

}  // namespace
}  // namespace memplan
