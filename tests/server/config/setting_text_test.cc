#include "server/config/setting_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/base/format.h"

namespace memplan {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

TEST(ReadBytesWithUnitTest, TakesBothKindsOfUnits) {
  EXPECT_EQ(*ReadBytesWithUnit("10GiB"), GiB(10));
  EXPECT_EQ(*ReadBytesWithUnit("64 MB"), Bytes(64'000'000));
  EXPECT_EQ(*ReadBytesWithUnit("0"), Bytes(0));
}

TEST(ReadBytesWithUnitTest, RefusesNumbersAloneAndUnknownUnits) {
  EXPECT_THAT(std::string(ReadBytesWithUnit("1024").status().message()),
              HasSubstr("\"1024\" has no unit; write 64MiB"));
  EXPECT_FALSE(ReadBytesWithUnit("10 parsecs").ok());
  EXPECT_FALSE(ReadBytesWithUnit("").ok());
}

TEST(WriteBytesTest, LosesNothing) {
  EXPECT_EQ(WriteBytes(GiB(10)), "10GiB");
  EXPECT_EQ(WriteBytes(KiB(1536)), "1536KiB");
  EXPECT_EQ(WriteBytes(Bytes(1000)), "1000B");
  EXPECT_EQ(WriteBytes(Bytes(0)), "0B");
}

TEST(ReadDurationTest, TakesUnitsFromMillisecondsToDays) {
  EXPECT_EQ(*ReadDuration("250ms"), milliseconds(250));
  EXPECT_EQ(*ReadDuration("1h30m"), minutes(90));
  EXPECT_EQ(*ReadDuration("14d"), hours(14 * 24));
  EXPECT_EQ(*ReadDuration("0"), milliseconds(0));
}

TEST(ReadDurationTest, RefusesNumbersAloneAndWhatIsNoDuration) {
  EXPECT_THAT(std::string(ReadDuration("30").status().message()),
              HasSubstr("\"30\" has no unit; write 250ms"));
  for (const char* text : {"", "-3s", "inf", "3 fortnights", "1us", "-1d",
                           "99999999d", "99999999h"}) {
    EXPECT_FALSE(ReadDuration(text).ok()) << text;
  }
}

TEST(WriteDurationTest, LosesNothing) {
  EXPECT_EQ(WriteDuration(hours(48)), "2d");
  EXPECT_EQ(WriteDuration(minutes(90)), "1h30m");
  EXPECT_EQ(WriteDuration(milliseconds(0)), "0");
  EXPECT_EQ(WriteDuration(seconds(30)), "30s");
}

TEST(ReadCountTest, TakesWholeNumbersAlone) {
  EXPECT_EQ(*ReadCount("17"), 17);
  for (const char* text : {"", "1.5", "many", "17s"}) {
    EXPECT_FALSE(ReadCount(text).ok()) << text;
  }
}

TEST(WriteRatioTest, IsANumberWithAPoint) {
  EXPECT_EQ(WriteRatio(1), "1.0");
  EXPECT_EQ(WriteRatio(0.9), "0.9");
}

TEST(ReadYesNoTest, TakesTwoWordsForEach) {
  EXPECT_TRUE(*ReadYesNo("yes"));
  EXPECT_TRUE(*ReadYesNo("true"));
  EXPECT_FALSE(*ReadYesNo("no"));
  EXPECT_FALSE(*ReadYesNo("false"));
  EXPECT_FALSE(ReadYesNo("1").ok());
}

}  // namespace
}  // namespace memplan
