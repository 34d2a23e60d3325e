#include "server/workers/trace_attribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "planner/base/format.h"

namespace memplan {
namespace {

using gpu::kNoName;
using gpu::TraceRecord;
using ::testing::ElementsAre;
using ::testing::SizeIs;

class TraceAttributionTest : public ::testing::Test {
 protected:
  uint32_t Id(const std::string& name) {
    for (uint32_t id = 0; id < names_.size(); ++id) {
      if (names_[id] == name) return id;
    }
    names_.push_back(name);
    return static_cast<uint32_t>(names_.size() - 1);
  }
  void Phase(const std::string& name) {
    attribution_.Apply({gpu::TraceEvent::kPhase, 0, 0, Id(name), 0, 0, 0});
  }
  void Operator(uint16_t depth, const std::string& name) {
    attribution_.Apply(
        {gpu::TraceEvent::kOperator, 0, depth, Id(name), 0, 0, 0});
  }
  void Refuse(uint16_t depth, const std::string& name, uint64_t bytes) {
    attribution_.Apply(
        {gpu::TraceEvent::kFailedRequest, 0, depth, Id(name), bytes, 0, 0});
  }
  void Peak(uint16_t depth, uint32_t name, uint64_t bytes,
            Bytes of_contents = Bytes(0)) {
    const TraceRecord record = {
        gpu::TraceEvent::kAlloc, 0, depth, name, bytes, 0x1000, 0};
    attribution_.Apply(record);
    attribution_.TakePeak(record, of_contents);
  }

  std::vector<std::string> names_;
  TraceAttribution attribution_{names_};
};

TEST_F(TraceAttributionTest, NamesTheOutermostOperatorOfABackwardPass) {
  Phase("step0/backward");
  Operator(1, "autograd::engine::evaluate_function: ConvolutionBackward0");
  Operator(2, "ConvolutionBackward0");
  Operator(3, "aten::convolution_backward");
  Operator(4, "aten::cudnn_convolution_backward_weight");
  Peak(4, Id("aten::cudnn_convolution_backward_weight"), 48);
  EXPECT_EQ(attribution_.Take().peak,
            (AttributedRequest{Bytes(48), "step0/backward",
                               "aten::convolution_backward",
                               "aten::cudnn_convolution_backward_weight"}));
}

// The last operator at a depth hides those before it, and those within them.
TEST_F(TraceAttributionTest, KnowsWhichOperatorsStillRun) {
  Phase("step0/forward");
  Operator(1, "aten::conv2d");
  Operator(2, "aten::convolution");
  Operator(1, "aten::linear");
  Peak(1, Id("aten::linear"), 7);
  EXPECT_EQ(attribution_.Take().peak,
            (AttributedRequest{Bytes(7), "step0/forward", "aten::linear",
                               "aten::linear"}));
}

TEST_F(TraceAttributionTest, NamesNobodyOutsideOfOperators) {
  Phase("load");
  Peak(0, kNoName, 5);
  EXPECT_EQ(attribution_.Take().peak,
            (AttributedRequest{Bytes(5), "load", "", ""}));
  Phase("step0");
  Peak(0, kNoName, 6);
  EXPECT_EQ(attribution_.Take().peak->phase, "step0");
}

TEST_F(TraceAttributionTest, KeepsTheLargestThatWasRefusedAndTheLast) {
  Phase("step0/forward");
  Operator(1, "aten::conv2d");
  Refuse(1, "aten::conv2d", uint64_t{48} << 30);
  Refuse(1, "aten::conv2d", 1 << 20);
  Phase("step1/forward");
  Operator(1, "aten::conv_transpose2d");
  Refuse(1, "aten::conv_transpose2d", uint64_t{48} << 30);
  const Attribution attribution = attribution_.Take();
  EXPECT_FALSE(attribution.peak);
  EXPECT_EQ(attribution.largest_refused, attribution.last_refused);
  EXPECT_EQ(
      attribution.last_refused,
      (AttributedRequest{GiB(48), "step1/forward", "aten::conv_transpose2d",
                         "aten::conv_transpose2d"}));
}

// A workspace that was made up for is not what ended it.
TEST_F(TraceAttributionTest, TellsWhatEndedItFromWhatWasMadeUpFor) {
  Phase("step0/forward");
  Operator(1, "aten::conv2d");
  Refuse(1, "aten::conv2d", uint64_t{48} << 30);
  Operator(1, "aten::relu");
  Refuse(1, "aten::relu", uint64_t{1} << 30);
  const Attribution attribution = attribution_.Take();
  EXPECT_EQ(attribution.largest_refused->operator_name, "aten::conv2d");
  EXPECT_EQ(attribution.last_refused->operator_name, "aten::relu");
}

TEST_F(TraceAttributionTest, PassesOverOperatorsOfNoRealDepth) {
  Phase("step0/forward");
  for (int i = 0; i < 1'000'000; ++i) {
    Operator(1, "aten::conv2d");
    Operator(UINT16_MAX, "aten::relu");
  }
  Peak(UINT16_MAX, Id("aten::relu"), 1);
  EXPECT_EQ(attribution_.Take().peak->operator_name, "aten::conv2d");
}

TEST_F(TraceAttributionTest, BelievesNoFigure) {
  Phase("step0");
  Refuse(9, "aten::conv2d", UINT64_MAX);  // at a depth that nothing runs at
  EXPECT_EQ(attribution_.Take().last_refused->bytes, Bytes(INT64_MAX));
  attribution_.Apply(
      {gpu::TraceEvent::kOperator, 0, UINT16_MAX, kNoName, 0, 0, 0});
  Phase(std::string(5000, '\xff'));
  Peak(1, kNoName, 1);
  EXPECT_EQ(attribution_.Take().peak->phase, std::string(128, '?'));
}

TEST_F(TraceAttributionTest,
       OfContentsIsWhatForwardAsksForBehindSuchAnOperator) {
  Phase("step0/forward");
  Operator(1, "aten::linear");
  EXPECT_FALSE(attribution_.IsOfContents());
  Operator(1, "aten::index");
  Operator(2, "aten::nonzero");
  EXPECT_TRUE(attribution_.IsOfContents());
  Operator(1, "aten::masked_select");
  Operator(1, "aten::nonzero");
  Operator(1, "aten::relu");
  EXPECT_TRUE(attribution_.IsOfContents());
  Peak(1, Id("aten::relu"), 9, Bytes(21));
  Phase("step0/backward");
  EXPECT_FALSE(attribution_.IsOfContents());
  Phase("step1/forward");
  EXPECT_FALSE(attribution_.IsOfContents());
  EXPECT_EQ(attribution_.Take().contents,
            (ContentsDependence{{"aten::nonzero", "aten::masked_select"},
                                Bytes(21)}));
}

TEST_F(TraceAttributionTest, RepeatsOfATensorOfNumbersDependOnContents) {
  Phase("step0/forward");
  Operator(1, "aten::repeat_interleave");
  Operator(2, "aten::expand");
  EXPECT_FALSE(attribution_.Take().contents);
  Operator(1, "aten::repeat_interleave");
  Operator(2, "aten::repeat_interleave");
  EXPECT_THAT(attribution_.Take().contents->operator_names,
              ElementsAre("aten::repeat_interleave"));
}

TEST_F(TraceAttributionTest, NamesEightOperatorsAtMost) {
  Phase("step0/forward");
  for (const char* name :
       {"aten::_unique", "aten::_unique2", "aten::bincount",
        "aten::masked_select", "aten::nonzero", "aten::nonzero_numpy",
        "aten::unique_consecutive", "aten::unique_dim", "torchvision::nms"}) {
    Operator(1, name);
  }
  EXPECT_THAT(attribution_.Take().contents->operator_names, SizeIs(8));
}

}  // namespace
}  // namespace memplan
