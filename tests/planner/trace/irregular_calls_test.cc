#include "planner/trace/irregular_calls.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/trace/instantiation.h"
#include "planner/trace/text_format.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Shape Batch(int64_t value) { return {{"batch", value}}; }

// Two calls of one convolution and one of another, whose weight has 5 channels;
// their scratch does not follow the batch.
std::string ConvolutionRun(int64_t batch, int64_t scratch) {
  std::string text = "M\tstep0\n";
  int64_t address = 0x7f0000000000;
  for (const int channels : {3, 3, 5}) {
    const int64_t output = 400 * batch;
    absl::StrAppend(&text, "O\t1\taten::convolution\nG\tpadding\tfloat32[",
                    batch, ",", channels, "]{", channels,
                    ",1}\t[1,2]\ttrue\t-\n");
    for (const int64_t bytes : {output, scratch}) {
      absl::StrAppend(&text, "A\t", bytes, "\t", absl::Hex(address),
                      "\taten::convolution\n");
      address += 1 << 24;
    }
    absl::StrAppend(&text, "D\t", absl::Hex(address - (1 << 24)), "\n");
  }
  return text + "O\t1\taten::mean\n";
}

SymbolicTrace SymbolicOf(const std::string& small, const std::string& large) {
  const Trace at_16 = ReadTraceText(small).value();
  const Trace at_32 = ReadTraceText(large).value();
  const std::vector<Recording> recordings = {{Batch(16), &at_16},
                                             {Batch(32), &at_32}};
  return MakeSymbolicTrace(recordings).value();
}

TEST(IrregularCallsTest, AreListedOnceWithTheirArgumentsAtTheShape) {
  const SymbolicTrace symbolic =
      SymbolicOf(ConvolutionRun(16, 900), ConvolutionRun(32, 700));
  const auto calls = IrregularCallsAt(symbolic, Batch(96));
  ASSERT_THAT(calls, IsOk());
  ASSERT_EQ(calls->size(), 2);
  const DistinctCall& call = (*calls)[0];
  EXPECT_EQ(call.operator_name, "aten::convolution");
  EXPECT_EQ(call.overload, "padding");
  EXPECT_TRUE(call.is_convolution);
  EXPECT_TRUE(call.has_signature);
  EXPECT_THAT(call.calls, ElementsAre(0, 1));
  EXPECT_THAT(
      call.arguments,
      ElementsAre(
          CallArgument{ArgumentKind::kTensor, false, "float32", {96, 3, 3, 1}},
          CallArgument{ArgumentKind::kIntegers, false, "", {1, 2}},
          CallArgument{ArgumentKind::kBoolean, false, "", {1}},
          CallArgument{ArgumentKind::kNone, false, "", {}}));
  EXPECT_THAT((*calls)[1].calls, ElementsAre(2));
}

TEST(IrregularCallsTest, AreEachDistinctWithoutSignatures) {
  std::string small = ConvolutionRun(16, 900);
  std::string large = ConvolutionRun(32, 700);
  for (std::string* text : {&small, &large}) {
    for (size_t at; (at = text->find("\nG\t")) != std::string::npos;) {
      text->erase(at, text->find('\n', at + 1) - at);
    }
  }
  const auto calls = IrregularCallsAt(SymbolicOf(small, large), Batch(96));
  ASSERT_THAT(calls, IsOk());
  ASSERT_EQ(calls->size(), 3);
  EXPECT_FALSE((*calls)[0].has_signature);
  EXPECT_THAT((*calls)[0].arguments, IsEmpty());
}

TEST(IrregularCallsTest, HaveNoSignatureWhereTheRecordingsDiffer) {
  std::string other = ConvolutionRun(32, 700);
  other.replace(other.find("float32"), 7, "float16");
  const auto calls =
      IrregularCallsAt(SymbolicOf(ConvolutionRun(16, 900), other), Batch(96));
  ASSERT_THAT(calls, IsOk());
  EXPECT_FALSE((*calls)[0].has_signature);
  EXPECT_TRUE((*calls)[1].has_signature);
}

TEST(IrregularCallsTest, TakeTheirPlansToEachPlaceWhereTheyStand) {
  const SymbolicTrace symbolic =
      SymbolicOf(ConvolutionRun(16, 900), ConvolutionRun(32, 700));
  const auto calls = IrregularCallsAt(symbolic, Batch(96));
  ASSERT_THAT(calls, IsOk());
  // The first was run; the second could not be.
  const auto plans =
      PlansOfCalls(*calls, {{{{0, 38400}, {1, 5000}, {1, 0}}}, {}});
  ASSERT_THAT(plans, IsOk());
  EXPECT_THAT(plans->of_call, ElementsAre(0, 0, kNoId));
  RequestStream stream;
  ASSERT_THAT(Instantiator(symbolic).Run(Batch(96), {.plans = &*plans}, stream),
              IsOk());
  std::vector<int64_t> bytes;
  for (const Request& request : stream.requests) bytes.push_back(request.bytes);
  // The third on its line: 900, 700, and below 0 from 88 on.
  EXPECT_THAT(bytes, ElementsAre(38400, 5000, 0, 38400, 5000, 0, 38400, 0, 0));
  ASSERT_EQ(stream.calls.size(), 3);
  EXPECT_EQ(stream.calls[0].plans, stream.calls[1].plans);
}

TEST(IrregularCallsTest, RefuseWhatDoesNotGoTogether) {
  const SymbolicTrace symbolic =
      SymbolicOf(ConvolutionRun(16, 900), ConvolutionRun(32, 700));
  EXPECT_THAT(IrregularCallsAt(symbolic, Batch(0)),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  EXPECT_THAT(PlansOfCalls(*IrregularCallsAt(symbolic, Batch(96)), {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("0 results for 2 distinct calls")));
}

}  // namespace
}  // namespace memplan
