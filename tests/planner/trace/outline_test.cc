#include "planner/trace/outline.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/trace/outer_calls.h"
#include "planner/trace/request_stream.h"
#include "tests/planner/trace/small_trace.h"

namespace memplan {
namespace {

using ::memplan::testing::SmallTrace;
using ::testing::ElementsAre;

TEST(OutlineTest, HasAPathForEachMark) {
  PathTable paths;
  const Trace trace = SmallTrace(
      "M step0 | O 1 aten::linear | O 2 aten::addmm | O 1 aten::linear | "
      "M step1 | O 1 aten::linear");
  const Outline outline = MakeOutline(trace, paths);
  // The second linear has the path of the first; that of step1 another.
  EXPECT_THAT(outline.paths, ElementsAre(0, 1, 2, 1, 3, 4));
  EXPECT_THAT(outline.parents, ElementsAre(kNoId, 0, 1, 0, kNoId, 4));
  EXPECT_THAT(outline.events, ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(OutlineTest, GivesEqualPathsOfTwoTracesOneId) {
  PathTable paths;
  const Outline first =
      MakeOutline(SmallTrace("M load | M step0 | O 1 aten::mm"), paths);
  const Outline second =
      MakeOutline(SmallTrace("M step0 | O 1 aten::add | O 1 aten::mm"), paths);
  EXPECT_THAT(first.paths, ElementsAre(0, 1, 2));
  EXPECT_THAT(second.paths, ElementsAre(1, 3, 2));
}

TEST(OutlineTest, SeesAnOperatorOverWhenTheNextBegins) {
  PathTable paths;
  const Outline outline = MakeOutline(
      SmallTrace("M step0 | O 1 a | O 2 b | O 2 c | O 1 d | M end"), paths);
  EXPECT_THAT(outline.ends, ElementsAre(5, 4, 3, 4, 5, 6));
}

TEST(OutlineTest, SeesAnOperatorOverWhenOneAboveItAsksForMemory) {
  PathTable paths;
  const Outline outline = MakeOutline(
      SmallTrace("M step0 | O 1 a | O 2 b | A x 8 b | A y 8 a | D x"), paths);
  EXPECT_THAT(outline.ends, ElementsAre(6, 6, 4));
  EXPECT_THAT(outline.askers, ElementsAre(2, 1));
}

TEST(OuterCallsTest, AreTheOutermostOperators) {
  PathTable paths;
  const Trace trace = SmallTrace(
      "M step0 | O 1 ConvolutionBackward0 | O 2 aten::convolution_backward | "
      "A x 8 | O 3 aten::sum | A y 8 | O 1 aten::mm | A z 8 | "
      "O 1 fused_add");
  const Outline outline = MakeOutline(trace, paths);
  const std::vector<OuterCall> calls = FindOuterCalls({trace, outline});
  ASSERT_EQ(calls.size(), 2);
  EXPECT_EQ(calls[0].mark, 2);
  EXPECT_EQ(calls[0].begin_event, 2);
  EXPECT_EQ(calls[0].end_event, 6);
  EXPECT_TRUE(calls[0].is_convolution);
  EXPECT_EQ(calls[1].mark, 4);
  EXPECT_FALSE(calls[1].is_convolution);
}

TEST(OuterCallsTest, AreConvolutionsIfOneIsInside) {
  PathTable paths;
  const Trace trace =
      SmallTrace("M step0 | O 1 aten::conv2d | O 2 aten::cudnn_convolution");
  const Outline outline = MakeOutline(trace, paths);
  const std::vector<OuterCall> calls = FindOuterCalls({trace, outline});
  ASSERT_EQ(calls.size(), 1);
  EXPECT_TRUE(calls[0].is_convolution);
}

TEST(OuterCallsTest, KnowOperatorsByTheirNames) {
  EXPECT_TRUE(IsOperatorName("aten::sum"));
  EXPECT_TRUE(IsOperatorName("mylib::fast_norm"));
  EXPECT_FALSE(IsOperatorName("AddBackward0"));
  EXPECT_FALSE(IsOperatorName("torch::autograd::AccumulateGrad"));
  EXPECT_FALSE(IsOperatorName(
      "autograd::engine::evaluate_function: torch::autograd::CopyBackwards"));
  EXPECT_FALSE(IsOperatorName("fused_mul_add"));
}

TEST(StreamOfTest, HasRequestsAndFreesAlone) {
  const RequestStream stream = StreamOf(
      SmallTrace("M load | O 1 aten::empty | A w 100 | M step0 | "
                 "O 1 aten::conv2d | O 2 aten::convolution | A x 8 | A y 9 | "
                 "D y | E | M step0/backward | O 1 aten::mm | D w"));
  EXPECT_THAT(stream.requests,
              ElementsAre(Request{.bytes = 100, .block = 0},
                          Request{.bytes = 8, .block = 1},
                          Request{.bytes = 9, .block = 2},
                          Request{.block = 2, .kind = RequestKind::kFree},
                          Request{.kind = RequestKind::kEmptyCache},
                          Request{.block = 0, .kind = RequestKind::kFree}));
  EXPECT_THAT(stream.events, ElementsAre(2, 6, 7, 8, 9, 12));
  EXPECT_EQ(stream.block_count, 3);
  ASSERT_EQ(stream.phases.size(), 3);
  EXPECT_EQ(stream.phases[1].begin, 1);
  EXPECT_FALSE(stream.phases[0].is_step);
  EXPECT_TRUE(stream.phases[1].is_step);
  EXPECT_FALSE(stream.phases[1].is_part);
  EXPECT_TRUE(stream.phases[2].is_step);
  EXPECT_TRUE(stream.phases[2].is_part);
  ASSERT_EQ(stream.calls.size(), 1);
  EXPECT_EQ(stream.calls[0].requests, (RequestRange{1, 5}));
  EXPECT_TRUE(stream.calls[0].is_convolution);
}

}  // namespace
}  // namespace memplan
