#include "planner/base/format.h"

#include <cstdint>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOkAndHolds;
using ::memplan::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct FormatCase {
  std::string name;
  int64_t bytes;
  std::string text;
};
class FormatBytesTest : public ::testing::TestWithParam<FormatCase> {};

TEST_P(FormatBytesTest, GivesText) {
  EXPECT_EQ(FormatBytes(Bytes(GetParam().bytes)), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    Amounts, FormatBytesTest,
    ::testing::ValuesIn<FormatCase>({
        {"Zero", 0, "0 B"},
        {"BelowOneKibibyteIsWhole", 1023, "1023 B"},
        {"OneKibibyte", 1024, "1.00 KiB"},
        {"TwoDecimalsBelowTen", 1536, "1.50 KiB"},
        {"RoundedUpToTen", 10'239, "10.0 KiB"},  // 9.999
        {"OneDecimalBelowAHundred", int64_t{16} << 30, "16.0 GiB"},
        {"RoundedUpToAHundred", 102'399, "100 KiB"},  // 99.999
        {"NoDecimalFromAHundred", int64_t{140} << 30, "140 GiB"},
        {"FourDigitsBelowTheNextUnit", 1'047'552, "1023 KiB"},
        {"RoundedUpToTheNextUnit", 1'048'575, "1.00 MiB"},
        {"Tebibytes", int64_t{3} << 40, "3.00 TiB"},
        {"Exbibytes", int64_t{1} << 60, "1.00 EiB"},
        {"Largest", INT64_MAX, "8.00 EiB"},
        {"NegativeBytes", -5, "-5 B"},
        {"NegativeKibibytes", -1536, "-1.50 KiB"},
        {"Smallest", INT64_MIN, "-8.00 EiB"},
    }),
    [](const auto& test) { return test.param.name; });

struct ParseCase {
  std::string name;
  std::string text;
  int64_t bytes;
};
class ParseBytesTest : public ::testing::TestWithParam<ParseCase> {};

TEST_P(ParseBytesTest, GivesBytes) {
  EXPECT_THAT(ParseBytes(GetParam().text),
              IsOkAndHolds(Bytes(GetParam().bytes)));
}

INSTANTIATE_TEST_SUITE_P(
    Amounts, ParseBytesTest,
    ::testing::ValuesIn<ParseCase>({
        {"NoUnitIsBytes", "1536", 1536},
        {"Zero", "0", 0},
        {"ZeroOfAUnit", "0GiB", 0},
        {"Bytes", "7 B", 7},
        {"Kibibytes", "1KiB", 1024},
        {"Mebibytes", "2 MiB", 2'097'152},
        {"Gibibytes", "16GiB", 17'179'869'184},
        {"Tebibytes", "1TiB", 1'099'511'627'776},
        {"SmallKilobytes", "1kB", 1000},
        {"Kilobytes", "1KB", 1000},
        {"Megabytes", "500MB", 500'000'000},
        {"Gigabytes", "16 GB", 16'000'000'000},
        {"Terabytes", "2TB", 2'000'000'000'000},
        {"ExactFraction", "1.5 KiB", 1536},
        {"FractionRoundsDown", "0.3 KiB", 307},  // 307.2
        {"FractionOfAByteRoundsDown", "1.999 B", 1},
        {"LongFractionRoundsDownOnce", "0.99999999999999999999999GB",
         999'999'999},
        {"LeadingZeros", "0016KiB", 16384},
        {"Largest", "1152921504606846976", int64_t{1} << 60},
        {"LargestInTebibytes", "1048576TiB", int64_t{1} << 60},
    }),
    [](const auto& test) { return test.param.name; });

struct RefusedCase {
  std::string name;
  std::string text;
};
class ParseBytesRefusalTest : public ::testing::TestWithParam<RefusedCase> {};

TEST_P(ParseBytesRefusalTest, SaysWhatWouldDo) {
  EXPECT_THAT(ParseBytes(GetParam().text),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("is no amount of memory"),
                             HasSubstr("such as 16GiB"))));
}

INSTANTIATE_TEST_SUITE_P(Texts, ParseBytesRefusalTest,
                         ::testing::ValuesIn<RefusedCase>({
                             {"Nothing", ""},
                             {"Space", " "},
                             {"UnitAlone", "GiB"},
                             {"Negative", "-1GiB"},
                             {"Plus", "+1"},
                             {"PointWithoutFraction", "1.GiB"},
                             {"PointWithoutWhole", ".5GiB"},
                             {"SpaceInNumber", "1 000 B"},
                             {"SmallLetters", "16gib"},
                             {"MixedLetters", "16 Gib"},
                             {"ShortUnit", "16G"},
                             {"Exponent", "1e9"},
                             {"SpaceAfter", "1GiB "},
                             {"SpaceBefore", " 1GiB"},
                             {"TwoSpaces", "1  GiB"},
                             {"SpaceWithoutUnit", "1 "},
                             {"Comma", "1,5GiB"},
                             {"Hexadecimal", "0x10"},
                             {"NoNumber", "nan"},
                             {"OneAboveTheLargest", "1152921504606846977"},
                             {"AboveTheLargestInUnits", "1048577TiB"},
                             {"AboveTheLargestByAFraction",
                              "1048576.000000000001TiB"},
                             {"BeyondInt64", "99999999999999999999999999"},
                         }),
                         [](const auto& test) { return test.param.name; });

TEST(ParseBytesErrorTest, ShowsStrangeTextEscapedAndCut) {
  const std::string text = "\x1b[31m" + std::string(100, 'x');
  EXPECT_THAT(
      ParseBytes(text),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("\"\\x1b[31m" + std::string(35, 'x') + "…\"")));
}

TEST(BytesStreamTest, PrintsBothForms) {
  std::ostringstream out;
  out << Bytes(1536);
  EXPECT_EQ(out.str(), "1.50 KiB (1536 B)");
}

}  // namespace
}  // namespace memplan
