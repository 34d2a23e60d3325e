#include "cuda/worker/mode_constants.h"

#include <torch/csrc/jit/ir/constants.h>

#include <optional>

namespace memplan::gpu {
namespace {

void Collect(torch::jit::Block& block, std::vector<ModeConstant>& found) {
  for (torch::jit::Node* node : block.nodes()) {
    for (torch::jit::Block* inner : node->blocks()) Collect(*inner, found);
    const c10::FunctionSchema* schema = node->maybeSchema();
    if (schema == nullptr) continue;
    for (const char* name : {"training", "train"}) {
      const std::optional<int> index = schema->argumentIndexWithName(name);
      if (!index.has_value()) continue;
      const auto value = torch::jit::toIValue(node->input(*index));
      if (!value.has_value() || !value->isBool()) continue;
      found.push_back({node, static_cast<size_t>(*index), value->toBool()});
    }
  }
}

}  // namespace

std::vector<ModeConstant> ModeConstantsOf(torch::jit::Block& block) {
  std::vector<ModeConstant> found;
  Collect(block, found);
  return found;
}

}  // namespace memplan::gpu
