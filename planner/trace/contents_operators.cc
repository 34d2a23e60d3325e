#include "planner/trace/contents_operators.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace memplan {
namespace {

// Those that torch tags as of a dynamic output shape, and torchvision's.
constexpr std::array<std::string_view, 11> kOfContents = {
    "aten::_ctc_loss",     "aten::_unique",
    "aten::_unique2",      "aten::bincount",
    "aten::masked_select", "aten::nonzero",
    "aten::nonzero_numpy", "aten::unique_consecutive",
    "aten::unique_dim",    "aten::unique_dim_consecutive",
    "torchvision::nms"};

// Of one number it only copies; of a tensor of numbers it asks itself for the
// indices, whose count is the numbers' sum.
constexpr std::string_view kRepeat = "aten::repeat_interleave";

}  // namespace

bool SizeDependsOnContents(std::string_view operator_name,
                           std::string_view within) {
  if (operator_name == kRepeat) return within == kRepeat;
  return std::find(kOfContents.begin(), kOfContents.end(), operator_name) !=
         kOfContents.end();
}

}  // namespace memplan
