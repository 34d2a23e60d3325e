#include "planner/trace/text_format.h"

#include <string>

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

constexpr char kEveryLine[] =
    "M\tload\n"
    "O\t1\taten::to\n"
    "G\tdtype\tfloat32[8,3]{3,1}\t-\n"
    "O\t2\taten::empty\n"
    "S\t2097152\t7f0000000000\n"
    "A\t512\t7f0000000000\taten::empty\n"
    "S\t2097152\t7f0000200000\tstream=55aa\n"
    "A\t100\t7f0000200000\taten::to\tstream=55aa\n"
    "A\t100\t7f0000200200\tautograd: (x) y\tstream=55aa\n"
    "O\t3\taten::to\n"
    "A\t100\t7f0000000400\taten::to\tdepth=1\n"
    "P\t2097152\t302000000\n"
    "X\t1048576\taten::empty\tstream=55aa\n"
    "X\t5\t\n"
    "F\t7f0000000000\n"
    "D\t7f0000000000\n"
    "D\t7f0000000400\n"
    "E\n"
    "U\t2097152\t7f0000000000\n"
    "Q\t2097152\t302000000\n"
    "M\tend\n";

TEST(TextFormatTest, WritesWhatItReads) {
  const auto trace = ReadTraceText(kEveryLine);
  ASSERT_THAT(trace, IsOk());
  EXPECT_EQ(WriteTraceText(*trace), kEveryLine);
  const auto again = ReadTraceText(WriteTraceText(*trace));
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(*again, *trace);
}

TEST(TextFormatTest, ReadsEachField) {
  const auto trace = ReadTraceText(kEveryLine);
  ASSERT_THAT(trace, IsOk());
  ASSERT_EQ(trace->events.size(), 20);
  const TraceEvent& to = trace->events[1];
  EXPECT_EQ(to.kind, EventKind::kOperator);
  EXPECT_EQ(to.depth, 1);
  EXPECT_EQ(trace->Name(to), "aten::to");
  EXPECT_EQ(to.link, 0);
  const TraceEvent& empty = trace->events[4];
  EXPECT_EQ(empty.kind, EventKind::kAlloc);
  EXPECT_EQ(empty.bytes, 512);
  EXPECT_EQ(empty.address, 0x7f0000000000);
  EXPECT_EQ(trace->Name(empty), "aten::empty");
  EXPECT_EQ(empty.depth, 2);
  EXPECT_EQ(empty.stream, 0);
  EXPECT_EQ(trace->events[6].stream, 1);
  EXPECT_EQ(trace->events[9].depth, 1);
  EXPECT_THAT(trace->streams, ElementsAre(0, 0x55aa));
}

TEST(TextFormatTest, ReadsALastLineWithoutItsEnd) {
  EXPECT_THAT(ReadTraceText("M\tload"), IsOk());
}

struct RefusedCase {
  std::string name;
  std::string text;
  std::string why;
};
class RefusedTextTest : public ::testing::TestWithParam<RefusedCase> {};

TEST_P(RefusedTextTest, SaysWhereAndWhy) {
  EXPECT_THAT(ReadTraceText(GetParam().text),
              StatusIs(kInvalid, HasSubstr(GetParam().why)));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, RefusedTextTest,
    ::testing::ValuesIn<RefusedCase>({
        {"Empty", "", "the trace is empty"},
        {"EmptyLine", "M\tload\n\nM\tend\n",
         "line 2, event 1: a line of unknown kind \"\""},
        {"UnknownKind", "M\tload\nZ\t1\n",
         "line 2, event 1: a line of unknown kind \"Z\""},
        {"LowerCase", "m\tload\n", "a line of unknown kind \"m\""},
        {"Binary", std::string("\0\1\2", 3),
         "a line of unknown kind \"\\x00\\x01\\x02\""},
        {"BadHex", "A\t512\txyz\taten::empty\n",
         "line 1, event 0: expected an address in hex, found \"xyz\""},
        {"HexPrefix", "D\t0x10\n", "expected an address in hex"},
        {"LongHex", "D\t10000000000000000\n", "expected an address in hex"},
        {"BadBytes", "A\t5k\t10\tf\n", "expected a number of bytes"},
        {"HugeBytes", "A\t9223372036854775808\t10\tf\n",
         "expected a number of bytes"},
        {"NegativeBytes", "A\t-512\t10\tf\n", "a size of -512 bytes"},
        {"MoreThanAnExbibyte", "A\t1152921504606846977\t10\tf\n",
         "a size of 1152921504606846977 bytes"},
        {"TooFewFields", "A\t512\t10\n",
         "too few fields; expected A bytes addr op"},
        {"UnknownField", "D\t10\tnow\n", "an unknown field \"now\""},
        {"StreamOfAFree", "D\t10\tstream=1\n", "an unknown field"},
        {"BadStream", "A\t8\t10\tf\tstream=z\n", "a stream's handle in hex"},
        {"FreeOfNothing", "M\tload\nD\t10\n",
         "line 2, event 1: a free at 10, where no block was handed out"},
        {"DoubleFree", "A\t8\t10\tf\nD\t10\nD\t10\n",
         "line 3, event 2: the block at 10 is freed twice; event 1"},
        {"OverlappingBlocks", "A\t8\t10\tf\nA\t8\t14\tf\n",
         "line 2, event 1: the block [14, 1c) overlaps"},
        {"OverlappingSegments", "S\t512\t1000\nS\t512\t1100\n",
         "line 2, event 1: [1100, 1300) overlaps [1000, 1200)"},
        {"SegmentFreedTwice", "S\t512\t1000\nU\t512\t1000\nU\t512\t1000\n",
         "line 3, event 2: no segment begins at 1000"},
        {"TooDeep", "O\t1000000\taten::add\n",
         "operators nest from 1 to 65535"},
        {"SignatureOfNothing", "M\tload\nG\t\t1\n",
         "line 2, event 1: a signature that does not follow on its operator"},
        {"BadSignature", "O\t1\tf\nG\t\twhat\n",
         "line 2, event 1: argument 1 of the signature"},
    }),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace memplan
