#include "cuda/worker/module_to.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace memplan::gpu {
namespace {

// Gathers tensors, each once: modules share them.
class TensorList {
 public:
  void AddModule(const torch::jit::Module& module) {
    for (const torch::jit::Module& child : module.children()) AddModule(child);
    for (const at::Tensor& own : module.parameters(/*recurse=*/false)) Add(own);
    for (const at::Tensor& own : module.buffers(/*recurse=*/false)) Add(own);
  }

  void AddValue(const c10::IValue& value) {
    value.visit([this](const c10::IValue& part) {
      if (part.isTensor()) Add(part.toTensor());
      // Objects may hold one another.
      return part.isObject() &&
             !seen_objects_.insert(part.internalToPointer()).second;
    });
  }

  void AddConstants(const torch::jit::Block& block) {
    for (const torch::jit::Node* node : block.nodes()) {
      for (const torch::jit::Block* inner : node->blocks()) {
        AddConstants(*inner);
      }
      if (node->hasAttribute(torch::jit::attr::Subgraph)) {
        AddConstants(*node->g(torch::jit::attr::Subgraph)->block());
      }
      if (node->kind() != torch::jit::prim::Constant) continue;
      const auto value = torch::jit::toIValue(node->output());
      if (value.has_value()) AddValue(*value);
    }
  }

  std::vector<at::Tensor> tensors() && { return std::move(tensors_); }

 private:
  void Add(const at::Tensor& tensor) {
    if (tensor.defined() && seen_.insert(tensor.unsafeGetTensorImpl()).second) {
      tensors_.push_back(tensor);
    }
  }

  std::vector<at::Tensor> tensors_;
  std::unordered_set<const c10::TensorImpl*> seen_;
  std::unordered_set<const void*> seen_objects_;
};

bool AreTheSamePart(const at::Tensor& one, const at::Tensor& other) {
  return one.dtype() == other.dtype() && one.sizes() == other.sizes() &&
         one.strides() == other.strides() &&
         one.storage_offset() == other.storage_offset();
}

bool IsDense(const at::Tensor& tensor) {
  return tensor.layout() == at::kStrided && !tensor.is_quantized();
}

}  // namespace

std::vector<at::Tensor> TensorsAsPythonMoves(const torch::jit::Module& module) {
  TensorList list;
  list.AddModule(module);
  list.AddValue(module._ivalue());
  const auto unit = module._ivalue()->compilation_unit();
  for (torch::jit::Function* function : unit->get_functions()) {
    if (auto* graph = torch::jit::tryToGraphFunction(*function)) {
      list.AddConstants(*graph->graph()->block());
    }
  }
  return std::move(list).tensors();
}

bool MoveAsPython(const torch::jit::Module& module, at::Device device) {
  const std::vector<at::Tensor> tensors = TensorsAsPythonMoves(module);
  if (!std::all_of(tensors.begin(), tensors.end(), IsDense)) return false;
  const auto firsts = FirstOfSameMemory(tensors);
  if (!firsts) return false;
  const at::NoGradGuard without_gradients;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const size_t first = (*firsts)[i];
    tensors[i].set_data(first == i ? tensors[i].to(device)
                                   : tensors[first].alias());
  }
  return true;
}

std::optional<std::vector<size_t>> FirstOfSameMemory(
    const std::vector<at::Tensor>& tensors) {
  std::unordered_map<const c10::StorageImpl*, size_t> owners;
  std::vector<size_t> firsts;
  firsts.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto [owner, is_first] =
        owners.try_emplace(tensors[i].storage().unsafeGetStorageImpl(), i);
    const size_t first = owner->second;
    if (!is_first && !AreTheSamePart(tensors[first], tensors[i])) {
      return std::nullopt;
    }
    firsts.push_back(first);
  }
  return firsts;
}

}  // namespace memplan::gpu
