#include "planner/admission/need_table.h"

#include <gtest/gtest.h>

namespace memplan {
namespace {

// 8 and 24 ran, 24 twice; 24 was verified.
NeedTable SampleTable() {
  return NeedTable(
      "probe-1",
      {{.batch = 24, .least = MiB(3000), .most = MiB(3000), .verified = false},
       {.batch = 8, .least = MiB(1000), .most = MiB(1000), .verified = false},
       {.batch = 24, .least = MiB(2900), .most = MiB(3080), .verified = true}});
}

TEST(NeedTableTest, SaysOfABatchThatRanWhatItTook) {
  const auto need = SampleTable().At(24);
  ASSERT_TRUE(need.has_value());
  EXPECT_EQ(need->least, MiB(2900));
  EXPECT_EQ(need->most, MiB(3080));
  EXPECT_EQ(need->source, NeedSource::kVerified);
  EXPECT_EQ(need->plan_id, "probe-1");
  EXPECT_EQ(SampleTable().At(8)->source, NeedSource::kMeasured);
}

TEST(NeedTableTest, EstimatesBetweenBatchesThatRan) {
  const auto need = SampleTable().At(12);
  ASSERT_TRUE(need.has_value());
  EXPECT_EQ(need->source, NeedSource::kEstimate);
  EXPECT_EQ(need->expected, MiB(1520));  // a quarter of the way to 3080
  EXPECT_EQ(need->least, MiB(1000));
  EXPECT_EQ(need->most, MiB(3080));
  EXPECT_EQ(need->batch, 12);
}

TEST(NeedTableTest, ASmallerBatchTakesAtMostWhatTheSmallestTook) {
  const auto need = SampleTable().At(1);
  ASSERT_TRUE(need.has_value());
  EXPECT_EQ(need->source, NeedSource::kEstimate);
  EXPECT_EQ(need->least, Bytes(0));
  EXPECT_EQ(need->most, MiB(1000));
}

TEST(NeedTableTest, KnowsNothingAboveTheLargestThatRan) {
  EXPECT_EQ(SampleTable().At(25), std::nullopt);
  EXPECT_EQ(SampleTable().At(0), std::nullopt);
  EXPECT_EQ(NeedTable().At(1), std::nullopt);
}

}  // namespace
}  // namespace memplan
