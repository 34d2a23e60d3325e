#include "planner/allocator/rounding.h"

#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "planner/allocator/settings.h"

namespace memplan {
namespace {

constexpr int64_t kKiB = 1 << 10;
constexpr int64_t kMiB = 1 << 20;

struct RoundingCase {
  std::string name;
  std::string settings;
  int64_t requested;
  int64_t block;
  int64_t segment;
};
class RoundingTest : public ::testing::TestWithParam<RoundingCase> {};

TEST_P(RoundingTest, GivesBlockAndSegment) {
  const auto settings = ParseAllocatorSettings(GetParam().settings);
  ASSERT_TRUE(settings.ok()) << settings.status();
  const Rounding rounding(*settings);
  const int64_t block = rounding.BlockSize(GetParam().requested);
  EXPECT_EQ(block, GetParam().block);
  EXPECT_EQ(rounding.SegmentSize(block), GetParam().segment);
}

INSTANTIATE_TEST_SUITE_P(
    Default, RoundingTest,
    ::testing::ValuesIn<RoundingCase>({
        {"OneByteTakesAWholeUnit", "", 1, 512, 2 * kMiB},
        {"ExactUnitIsKept", "", 512, 512, 2 * kMiB},
        {"OneOverTakesTheNextUnit", "", 513, 1024, 2 * kMiB},
        {"SmallLimit", "", kMiB, kMiB, 2 * kMiB},
        {"AboveSmallLimit", "", kMiB + 1, kMiB + 512, 20 * kMiB},
        {"BelowDirectLimit", "", 10 * kMiB - 512, 10 * kMiB - 512, 20 * kMiB},
        {"DirectLimit", "", 10 * kMiB - 511, 10 * kMiB, 10 * kMiB},
        {"WholeGranules", "", 10 * kMiB + 1, 10 * kMiB + 512, 12 * kMiB},
        {"OtherLargeSegment", "large_segment_size_mb:30", 2 * kMiB, 2 * kMiB,
         30 * kMiB},
    }),
    [](const auto& test) { return test.param.name; });

// With 4 divisions: 4 MiB, 5, 6, 7, 8, 10, …
INSTANTIATE_TEST_SUITE_P(
    PowersOfTwo, RoundingTest,
    ::testing::ValuesIn<RoundingCase>({
        {"ExactPowerIsKept", "roundup_power2_divisions:4", 4 * kMiB, 4 * kMiB,
         20 * kMiB},
        {"NextPart", "roundup_power2_divisions:4", 4 * kMiB + 1, 5 * kMiB,
         20 * kMiB},
        {"LastPart", "roundup_power2_divisions:4", 7 * kMiB + 1, 8 * kMiB,
         20 * kMiB},
        {"UpTo512TimesDivisions", "roundup_power2_divisions:4", 1537, 2048,
         2 * kMiB},
        {"AboveIt", "roundup_power2_divisions:4", 2049, 2560, 2 * kMiB},
        {"SmallSizesUseTheFirstEntry", "roundup_power2_divisions:[1:2,2:8]",
         5 * kKiB, 6 * kKiB, 2 * kMiB},
        {"OneDivisionIsNone", "roundup_power2_divisions:1", 4 * kMiB + 1,
         4 * kMiB + 512, 20 * kMiB},
        {"AboveTheTableItsLastEntry", "roundup_power2_divisions:[32768:2]",
         (int64_t{1} << 40) + 1, 3 * (int64_t{1} << 39),
         3 * (int64_t{1} << 39)},
        {"HugeDivisionsAreNone",
         "roundup_power2_divisions:[1:4611686018427387904]", kMiB - 511,
         kMiB - 511 + 511, 2 * kMiB},
    }),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace memplan
