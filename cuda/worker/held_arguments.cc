#include "cuda/worker/held_arguments.h"

#include <ATen/core/stack.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <cstdint>
#include <memory>
#include <unordered_set>
#include <vector>

namespace memplan::gpu {
namespace {

// Does nothing with any number of values, and is not optimized away. It is not
// among the dispatcher's operators, so that no observer sees it.
c10::Symbol HoldSymbol() {
  static const torch::jit::RegisterOperators kRegistered({torch::jit::Operator(
      "memplan::hold(...) -> ()",
      [](torch::jit::Stack& stack) {
        const int64_t count = torch::jit::pop(stack).toInt();
        torch::jit::drop(stack, count);
      },
      c10::AliasAnalysisKind::CONSERVATIVE)});
  static const c10::Symbol kSymbol =
      c10::Symbol::fromQualString("memplan::hold");
  return kSymbol;
}

bool CallsForward(const torch::jit::Node& node) {
  return node.kind() == c10::prim::CallMethod &&
         node.s(c10::attr::name) == "forward";
}

void Hold(torch::jit::Block& block) {
  const std::vector<torch::jit::Node*> nodes(block.nodes().begin(),
                                             block.nodes().end());
  for (torch::jit::Node* node : nodes) {
    for (torch::jit::Block* inner : node->blocks()) Hold(*inner);
    if (!CallsForward(*node)) continue;
    const auto arguments = node->inputs().slice(1);  // without the module
    block.owningGraph()
        ->create(HoldSymbol(), arguments, /*num_outputs=*/0)
        ->insertAfter(node);
  }
}

}  // namespace

void HoldArgumentsAsPython(const torch::jit::Module& module) {
  std::unordered_set<const torch::jit::Graph*> seen;  // modules share methods
  for (const torch::jit::Module& part : module.modules()) {
    for (const torch::jit::Method& method : part.get_methods()) {
      const std::shared_ptr<torch::jit::Graph> graph = method.graph();
      if (seen.insert(graph.get()).second) Hold(*graph->block());
    }
  }
}

}  // namespace memplan::gpu
