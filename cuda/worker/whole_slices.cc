#include "cuda/worker/whole_slices.h"

#include <ATen/ATen.h>
#include <ATen/core/stack.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace memplan::gpu {
namespace {

// As at::indexing::impl::applySlice, but for tracing.
void IndexSlice(torch::jit::Stack& stack) {
  const int64_t step = torch::jit::pop(stack).toInt();
  const auto end = torch::jit::pop(stack).toOptional<int64_t>();
  const auto start = torch::jit::pop(stack).toOptional<int64_t>();
  const int64_t dimension = torch::jit::pop(stack).toInt();
  const at::Tensor self = torch::jit::pop(stack).toTensor();
  constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();
  const bool is_whole = step == 1 && start.value_or(0) == 0 &&
                        self.size(dimension) <= end.value_or(kToTheEnd);
  torch::jit::push(
      stack, is_whole ? self : at::slice(self, dimension, start, end, step));
}

// Not among the dispatcher's operators: observers see the slice within, if any.
c10::Symbol IndexSliceSymbol() {
  static const torch::jit::RegisterOperators kRegistered({torch::jit::Operator(
      "memplan::index_slice(Tensor(a) self, int dim=0, int? start=None, "
      "int? end=None, int step=1) -> Tensor(a)",
      IndexSlice, c10::AliasAnalysisKind::FROM_SCHEMA)});
  static const c10::Symbol kSymbol =
      c10::Symbol::fromQualString("memplan::index_slice");
  return kSymbol;
}

// Of a slice, select or unsqueeze; none if it is computed.
std::optional<int64_t> DimensionOf(const torch::jit::Node& node) {
  const auto value = torch::jit::toIValue(node.input(1));
  return value.has_value() && value->isInt() ? std::optional(value->toInt())
                                             : std::nullopt;
}

bool IsSliceOfTensor(const torch::jit::Node& node) {
  return node.kind() == c10::aten::slice && node.inputs().size() == 5 &&
         node.input(0)->type()->isSubtypeOf(*c10::TensorType::get());
}

// Whether it goes on with the indices behind the first, as in x[:, 0].
bool IndexesFurther(const torch::jit::Node& node) {
  switch (node.kind()) {
    case c10::aten::index:
      return true;
    case c10::aten::slice:
    case c10::aten::select:
    case c10::aten::unsqueeze:
      return DimensionOf(node).value_or(0) != 0;
    default:
      return false;
  }
}

bool IsOneOfSeveralIndices(const torch::jit::Node& slice) {
  const std::optional<int64_t> dimension = DimensionOf(slice);
  if (!dimension.has_value()) return false;
  const auto& uses = slice.output()->uses();
  return *dimension != 0 ||
         (!uses.empty() &&
          std::all_of(uses.begin(), uses.end(), [](const torch::jit::Use& use) {
            return IndexesFurther(*use.user);
          }));
}

void GatherSlices(torch::jit::Block& block,
                  std::vector<torch::jit::Node*>& slices) {
  for (torch::jit::Node* node : block.nodes()) {
    for (torch::jit::Block* inner : node->blocks())
      GatherSlices(*inner, slices);
    if (IsSliceOfTensor(*node) && IsOneOfSeveralIndices(*node)) {
      slices.push_back(node);
    }
  }
}

void Replace(torch::jit::Node& slice) {
  torch::jit::Node* index =
      slice.owningGraph()->create(IndexSliceSymbol(), slice.inputs());
  index->insertBefore(&slice);
  index->output()->copyMetadata(slice.output());
  slice.output()->replaceAllUsesWith(index->output());
  slice.destroy();
}

}  // namespace

void LeaveOutWholeSlices(const torch::jit::Module& module) {
  const auto unit = module._ivalue()->compilation_unit();
  for (torch::jit::Function* function : unit->get_functions()) {
    auto* graph = torch::jit::tryToGraphFunction(*function);
    if (graph == nullptr) continue;
    std::vector<torch::jit::Node*> slices;
    GatherSlices(*graph->graph()->block(), slices);
    for (torch::jit::Node* slice : slices) Replace(*slice);
  }
}

}  // namespace memplan::gpu
