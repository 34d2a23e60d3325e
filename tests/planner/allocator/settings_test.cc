// Expected values are what libtorch 2.11.0 made of the same texts.
#include "planner/allocator/settings.h"

#include <array>
#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/allocator/conditions.h"
#include "planner/base/format.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::IsOkAndHolds;
using ::memplan::testing::StatusIs;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(SettingsTest, EmptyIsTheDefault) {
  EXPECT_THAT(ParseAllocatorSettings(""), IsOkAndHolds(AllocatorSettings()));
  EXPECT_THAT(ParseAllocatorSettings(" \t\n"),
              IsOkAndHolds(AllocatorSettings()));
}

TEST(SettingsTest, ReadsEachKey) {
  const auto settings = ParseAllocatorSettings(
      "max_split_size_mb:128,max_non_split_rounding_mb:40,"
      "garbage_collection_threshold:0.6,roundup_power2_divisions:4,"
      "expandable_segments:True,per_process_memory_fraction:0.5,"
      "large_segment_size_mb:30");
  ASSERT_THAT(settings, IsOk());
  EXPECT_EQ(settings->large_segment_size, MiB(30));
  EXPECT_EQ(settings->max_split_size, MiB(128));
  EXPECT_EQ(settings->max_non_split_rounding, MiB(40));
  EXPECT_EQ(settings->garbage_collection_threshold, 0.6);
  EXPECT_THAT(settings->power2_divisions, ::testing::Each(4));
  EXPECT_TRUE(settings->expandable_segments);
  EXPECT_EQ(settings->memory_fraction, 0.5);
}

TEST(SettingsTest, LargeSegmentSizeIsReadFirst) {
  const auto settings =
      ParseAllocatorSettings("max_split_size_mb:30,large_segment_size_mb:30");
  ASSERT_THAT(settings, IsOk());
  EXPECT_EQ(settings->max_non_split_rounding, MiB(30));
  EXPECT_THAT(
      ParseAllocatorSettings("max_split_size_mb:25,large_segment_size_mb:30"),
      StatusIs(kInvalid, HasSubstr("it must be at least 30")));
}

using Divisions = std::array<uint64_t, 16>;
struct DivisionsCase {
  std::string name;
  std::string value;
  Divisions divisions;
};
class DivisionsTest : public ::testing::TestWithParam<DivisionsCase> {};

TEST_P(DivisionsTest, FillTheTable) {
  const auto settings =
      ParseAllocatorSettings("roundup_power2_divisions:" + GetParam().value);
  ASSERT_THAT(settings, IsOk());
  EXPECT_EQ(settings->power2_divisions, GetParam().divisions);
}

INSTANTIATE_TEST_SUITE_P(Lists, DivisionsTest,
                         ::testing::ValuesIn<DivisionsCase>({
                             {"FirstFillsBelowRestFillsAbove",
                              "[256:1,512:2,1024:4,>:8]",
                              {1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8}},
                             {"GapsStayZero",
                              "[4:0,64:2]",
                              {0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
                             {"RestAloneSparesTheFirst",
                              "[>:8]",
                              {0, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}},
                             {"RestBeforeOthers",
                              "[4:2,>:8,64:4]",
                              {2, 2, 2, 8, 8, 8, 4, 8, 8, 8, 8, 8, 8, 8, 8, 8}},
                             {"FirstListedNotLeast",
                              "[4:2,1:8]",
                              {8, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
                             {"AboveTheTable",
                              "[131072:4,>:2]",
                              {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}},
                             {"EmptyList", "[]", {}},
                             {"CommaAtTheEnd", "[1:4,]", {4}},
                             {"OtherSigns", "[1:4:2,8]", {4, 8}},
                         }),
                         [](const auto& test) { return test.param.name; });

struct AcceptedCase {
  std::string name;
  std::string text;
  Bytes max_split_size;
};
class AcceptedSettingsTest : public ::testing::TestWithParam<AcceptedCase> {};

TEST_P(AcceptedSettingsTest, GiveMaxSplitSize) {
  const auto settings = ParseAllocatorSettings(GetParam().text);
  ASSERT_THAT(settings, IsOk());
  EXPECT_EQ(settings->max_split_size, GetParam().max_split_size);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, AcceptedSettingsTest,
    ::testing::ValuesIn<AcceptedCase>({
        {"Spaces", " max_split_size_mb : 64 ", MiB(64)},
        {"LinesAndTabs", "\tmax_split_size_mb:\n64", MiB(64)},
        {"CommaAtTheEnd", "max_split_size_mb:64,", MiB(64)},
        {"CommaForColon", "max_split_size_mb,64", MiB(64)},
        {"LettersAfterDigits", "max_split_size_mb:64abc", MiB(64)},
        {"Fraction", "max_split_size_mb:64.5", MiB(64)},
        {"LeadingZero", "max_split_size_mb:064", MiB(64)},
        {"Plus", "max_split_size_mb:+64", MiB(64)},
        {"LastOfTwoCounts", "max_split_size_mb:64,max_split_size_mb:128",
         MiB(128)},
        {"BracketBehind", "max_split_size_mb:64]", MiB(64)},
        {"Negative", "max_split_size_mb:-1", kUnbounded},
        {"Idle",
         "backend:native,release_lock_on_cudamalloc:True,"
         "pinned_use_cuda_host_register:False,pinned_num_register_threads:8,"
         "pinned_reserve_segment_size_mb:5,pinned_use_background_threads:True,"
         "graph_capture_record_stream_reuse:True,max_split_size_mb:20",
         MiB(20)},
    }),
    [](const auto& test) { return test.param.name; });

struct RefusedCase {
  std::string name;
  std::string text;
  std::string why;
};
class RefusedSettingsTest : public ::testing::TestWithParam<RefusedCase> {};

TEST_P(RefusedSettingsTest, SayWhy) {
  EXPECT_THAT(ParseAllocatorSettings(GetParam().text),
              StatusIs(kInvalid, HasSubstr(GetParam().why)));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, RefusedSettingsTest,
    ::testing::ValuesIn<RefusedCase>({
        {"UnknownKey", "unknown:1", "\"unknown\" is no allocator setting"},
        {"UnknownKeyAlone", "unknown", "\"unknown\" is no allocator setting"},
        {"UpperCase", "MAX_SPLIT_SIZE_MB:64", "is no allocator setting"},
        {"SpaceForColon", "max_split_size_mb 64",
         "\"max_split_size_mb64\" is no allocator setting"},
        {"TwoCommas", "max_split_size_mb:64,,expandable_segments:True",
         "\",\" is no allocator setting"},
        {"CommaFirst", ",max_split_size_mb:64",
         "\",\" is no allocator setting"},
        {"NoValue", "max_split_size_mb:", "the text ends where its value"},
        {"NoColon", "expandable_segments", "the text ends where its value"},
        {"NoNumber", "max_split_size_mb:abc",
         "max_split_size_mb: expected a whole number, found \"abc\""},
        {"ListForNumber", "max_split_size_mb:[64]",
         "expected a whole number, found \"[\""},
        {"HugeNumber", "max_split_size_mb:99999999999999999999",
         "expected a number below 2^64"},
        {"BelowALargeSegment", "max_split_size_mb:19",
         "max_split_size_mb: it must be at least 20"},
        {"Hexadecimal", "max_split_size_mb:0x40", "it must be at least 20"},
        {"SmallRounding", "max_non_split_rounding_mb:19",
         "max_non_split_rounding_mb: it must be at least 20"},
        {"SmallLargeSegment", "large_segment_size_mb:10",
         "large_segment_size_mb: it must be above 10"},
        {"ThresholdZero", "garbage_collection_threshold:0",
         "it must be above 0 and below 1"},
        {"ThresholdOne", "garbage_collection_threshold:1",
         "it must be above 0 and below 1"},
        {"ThresholdNan", "garbage_collection_threshold:nan",
         "it must be above 0 and below 1"},
        {"ThresholdText", "garbage_collection_threshold:abc",
         "expected a number, found \"abc\""},
        {"LowerCaseTrue", "expandable_segments:true",
         "expected True or False, found \"true\""},
        {"DivisionsZero", "roundup_power2_divisions:0",
         "it must be a power of two"},
        {"DivisionsThree", "roundup_power2_divisions:3",
         "it must be a power of two"},
        {"ListOpen", "roundup_power2_divisions:[256:1,512:2",
         "its list is not closed by ]"},
        {"ListSize", "roundup_power2_divisions:[3:4]",
         "a size in its list must be a power of two"},
        {"ListDivisions", "roundup_power2_divisions:[256:3]",
         "divisions must be 0 or a power of two"},
        {"ListWithoutValue", "roundup_power2_divisions:[256]",
         "roundup_power2_divisions"},
        {"ListCommaFirst", "roundup_power2_divisions:[,1:4]",
         "expected a whole number, found \",\""},
        {"FractionAboveOne", "per_process_memory_fraction:1.5",
         "it must be in 0 … 1"},
        {"OtherBackend", "backend:foo", "it is native or cudaMallocAsync"},
        {"DriversBackend", "backend:cudaMallocAsync", "not modelled"},
        {"Threads", "pinned_num_register_threads:3",
         "a power of two up to 128"},
        {"PinnedSegment", "pinned_reserve_segment_size_mb:0",
         "it must be above 0"},
        {"IdleSwitch", "release_lock_on_cudamalloc:x",
         "expected True or False"},
    }),
    [](const auto& test) { return test.param.name; });

TEST(ConditionsTest, FractionsOfTheDeviceAreRoundedDown) {
  AllocatorConditions conditions;
  EXPECT_EQ(conditions.EffectiveCap(), std::nullopt);
  conditions.device_total = Bytes(1001);
  conditions.settings.memory_fraction = 0.5;
  EXPECT_EQ(conditions.EffectiveCap(), Bytes(500));
  conditions.settings.memory_fraction = 0;
  EXPECT_EQ(conditions.EffectiveCap(), Bytes(0));
  conditions.cap = Bytes(7);
  EXPECT_EQ(conditions.EffectiveCap(), Bytes(7));
}

}  // namespace
}  // namespace memplan
