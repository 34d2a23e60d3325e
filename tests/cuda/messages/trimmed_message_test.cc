#include <string>

#include "cuda/worker/messages/messages.h"
#include "gtest/gtest.h"

namespace memplan::gpu {
namespace {

TEST(TrimmedMessageTest, LeavesShortTextAlone) {
  EXPECT_EQ(TrimmedMessage(""), "");
  EXPECT_EQ(TrimmedMessage("two\nlines, caf\xc3\xa9"),
            "two\nlines, caf\xc3\xa9");
}

TEST(TrimmedMessageTest, LeavesTextOfExactlyOneKilobyteAlone) {
  const std::string text(1024, 'x');
  EXPECT_EQ(TrimmedMessage(text), text);
}

TEST(TrimmedMessageTest, CutsLongerTextToOneKilobyteWithTheEllipsis) {
  // The ellipsis takes three bytes.
  EXPECT_EQ(TrimmedMessage(std::string(1025, 'x')),
            std::string(1021, 'x') + "…");
}

TEST(TrimmedMessageTest, CutsAtACharactersBorder) {
  // 1020 bytes, then characters of two bytes: one fits beside the ellipsis only
  // in part.
  std::string text(1020, 'x');
  for (int i = 0; i < 10; ++i) text += "é";
  EXPECT_EQ(TrimmedMessage(text), std::string(1020, 'x') + "…");
}

TEST(TrimmedMessageTest, DropsControlCharacters) {
  EXPECT_EQ(TrimmedMessage(std::string("a\0b\x1b[1mc\x7f\rd", 11)), "ab[1mcd");
  EXPECT_EQ(TrimmedMessage("a\xc2\x9b"
                           "b"),
            "ab");  // U+009B
}

TEST(TrimmedMessageTest, TurnsTabsIntoSpaces) {
  EXPECT_EQ(TrimmedMessage("a\tb"), "a b");
}

TEST(TrimmedMessageTest, TurnsBytesThatAreNoUtf8IntoQuestionMarks) {
  EXPECT_EQ(TrimmedMessage("a\xff"
                           "b"),
            "a?b");
  EXPECT_EQ(TrimmedMessage("\xc3"), "?");                 // cut short
  EXPECT_EQ(TrimmedMessage("\x80"), "?");                 // continues nothing
  EXPECT_EQ(TrimmedMessage("\xc0\xaf"), "??");            // overlong
  EXPECT_EQ(TrimmedMessage("\xed\xa0\x80"), "???");       // surrogate
  EXPECT_EQ(TrimmedMessage("\xf4\x90\x80\x80"), "????");  // above U+10FFFF
  EXPECT_EQ(TrimmedMessage("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80");
}

TEST(TrimmedMessageTest, IsAlreadyTrimmed) {
  const std::string once = TrimmedMessage(std::string(3000, '\xff') + "\tx");
  EXPECT_EQ(TrimmedMessage(once), once);
}

}  // namespace
}  // namespace memplan::gpu
