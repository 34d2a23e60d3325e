#include "planner/trace/reserved_ranges.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(ReservedRangesTest, HoldsBlocksWithinOneSegment) {
  ReservedRanges ranges;
  ASSERT_THAT(ranges.AddSegment({0x1000, 0x2000}), IsOk());
  ASSERT_THAT(ranges.AddSegment({0x2000, 0x3000}), IsOk());
  EXPECT_TRUE(ranges.Holds({0x1000, 0x2000}));
  EXPECT_TRUE(ranges.Holds({0x2800, 0x3000}));
  EXPECT_FALSE(ranges.Holds({0x1800, 0x2800}));
  EXPECT_FALSE(ranges.Holds({0x0800, 0x1800}));
  EXPECT_FALSE(ranges.Holds({0x3000, 0x3001}));
}

TEST(ReservedRangesTest, RefusesWhatOverlaps) {
  ReservedRanges ranges;
  ASSERT_THAT(ranges.AddSegment({0x1000, 0x2000}), IsOk());
  const auto refused = StatusIs(kInvalid, HasSubstr("overlaps [1000, 2000)"));
  EXPECT_THAT(ranges.AddSegment({0x0fff, 0x1001}), refused);
  EXPECT_THAT(ranges.AddSegment({0x1fff, 0x3000}), refused);
  EXPECT_THAT(ranges.AddSegment({0x0000, 0x9000}), refused);
  EXPECT_THAT(ranges.Map({0x1400, 0x1500}), refused);
}

TEST(ReservedRangesTest, GivesBackWholeSegmentsOnly) {
  ReservedRanges ranges;
  ASSERT_THAT(ranges.AddSegment({0x1000, 0x2000}), IsOk());
  EXPECT_THAT(ranges.RemoveSegment({0x1000, 0x1800}),
              StatusIs(kInvalid, HasSubstr("has 4096 bytes, not 2048")));
  EXPECT_THAT(ranges.RemoveSegment({0x1800, 0x2000}),
              StatusIs(kInvalid, HasSubstr("no segment begins at 1800")));
  EXPECT_THAT(ranges.RemoveSegment({0x1000, 0x2000}), IsOk());
  EXPECT_TRUE(ranges.empty());
}

// Pieces a, b and c are mapped, b last; then the middle of them all goes.
//
//   1000   2000   3000   4000
//   │  a   │  b   │  c   │
//   │ a │  gone      │ c │
TEST(ReservedRangesTest, JoinsMappedPiecesAndUnmapsAcrossThem) {
  ReservedRanges ranges;
  ASSERT_THAT(ranges.Map({0x1000, 0x2000}), IsOk());
  ASSERT_THAT(ranges.Map({0x3000, 0x4000}), IsOk());
  EXPECT_FALSE(ranges.Holds({0x1000, 0x4000}));
  ASSERT_THAT(ranges.Map({0x2000, 0x3000}), IsOk());
  EXPECT_TRUE(ranges.Holds({0x1000, 0x4000}));
  ASSERT_THAT(ranges.Unmap({0x1800, 0x3800}), IsOk());
  EXPECT_TRUE(ranges.Holds({0x1000, 0x1800}));
  EXPECT_FALSE(ranges.Holds({0x1800, 0x1801}));
  EXPECT_TRUE(ranges.Holds({0x3800, 0x4000}));
  EXPECT_THAT(ranges.Unmap({0x1000, 0x4000}),
              StatusIs(kInvalid, HasSubstr("is not mapped as a whole")));
  EXPECT_THAT(ranges.RemoveSegment({0x1000, 0x1800}),
              StatusIs(kInvalid, HasSubstr("no segment begins at 1000")));
}

TEST(ReservedRangesTest, DoesNotUnmapSegments) {
  ReservedRanges ranges;
  ASSERT_THAT(ranges.AddSegment({0x1000, 0x2000}), IsOk());
  EXPECT_THAT(ranges.Unmap({0x1000, 0x2000}),
              StatusIs(kInvalid, HasSubstr("is not mapped")));
}

}  // namespace
}  // namespace memplan
