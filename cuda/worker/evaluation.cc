#include "cuda/worker/evaluation.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include "cuda/worker/mode_constants.h"

namespace memplan::gpu {
namespace {

void StopTraining(torch::jit::Graph& graph) {
  for (const ModeConstant& constant : ModeConstantsOf(*graph.block())) {
    if (!constant.trains) continue;
    const torch::jit::WithInsertPoint before(constant.operation);
    constant.operation->replaceInput(constant.input,
                                     graph.insertConstant(false));
  }
}

}  // namespace

torch::jit::Module InEvalMode(const torch::jit::Module& module) {
  // In place: the copy's tensors are those of the original.
  torch::jit::Module copy = module.clone(/*inplace=*/true);
  for (const torch::jit::Module& part : copy.modules()) {
    for (const torch::jit::Method& method : part.get_methods()) {
      if (auto* graph = torch::jit::tryToGraphFunction(method.function())) {
        StopTraining(*graph->graph());
      }
    }
  }
  copy.eval();
  return copy;
}

}  // namespace memplan::gpu
