#include "client/cli/attribution_words.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace memplan {
namespace {

v1::AttributedRequest Request(int64_t bytes, const std::string& phase,
                              const std::string& name,
                              const std::string& innermost) {
  v1::AttributedRequest request;
  request.set_bytes(bytes);
  request.set_phase(phase);
  request.set_operator_name(name);
  request.set_innermost_name(innermost);
  return request;
}

TEST(RequestWordsTest, NamesTheOperatorAndTheOneWithinThatAsked) {
  EXPECT_EQ(RequestWords(Request(int64_t{48} << 30, "step0/forward",
                                 "aten::conv_transpose2d",
                                 "aten::cudnn_convolution_transpose")),
            "48.0 GiB for aten::conv_transpose2d "
            "(aten::cudnn_convolution_transpose), in step0/forward");
}

TEST(RequestWordsTest, LeavesOutWhatSaysNothing) {
  EXPECT_EQ(RequestWords(Request(512, "step0", "aten::mm", "aten::mm")),
            "512 B for aten::mm, in step0");
  EXPECT_EQ(RequestWords(Request(512, "", "", "")),
            "512 B outside of operators");
}

// Names come from a model's own code.
TEST(RequestWordsTest, ShowsNoControlCharacters) {
  const std::string words =
      RequestWords(Request(1, "step0\x1b[31m", "evil\x07::op", ""));
  EXPECT_EQ(words.find('\x1b'), std::string::npos) << words;
  EXPECT_EQ(words.find('\x07'), std::string::npos) << words;
}

TEST(ContentsWordsTest, SaysHowMuchAndWhatToDo) {
  v1::ContentsDependence contents;
  contents.add_operator_names("aten::nonzero");
  contents.add_operator_names("torchvision::nms");
  contents.set_at_peak_bytes(int64_t{3} << 30);
  EXPECT_EQ(ContentsWords(contents),
            "what aten::nonzero, torchvision::nms gives is as large as the "
            "inputs' contents have it; with others about 3.00 GiB more, or "
            "above, may be needed: ask for the worst, such as --input "
            "'float32[B,10]{ones}'");
  contents.set_at_peak_bytes(0);
  EXPECT_NE(
      ContentsWords(contents).find("none of it was held at the peak of these"),
      std::string::npos);
}

}  // namespace
}  // namespace memplan
