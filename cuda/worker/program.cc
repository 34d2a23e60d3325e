#include "cuda/worker/program.h"

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/serialization/import.h>

#include <array>
#include <fstream>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "cuda/worker/module_to.h"

namespace memplan::gpu {
namespace {

// Source locations: more to parse, and only our reports would show them.
constexpr bool kWithoutDebugFiles = false;

void MoveConstants(torch::jit::Block& block, const std::string& device) {
  for (torch::jit::Node* node : block.nodes()) {
    for (torch::jit::Block* inner : node->blocks()) {
      MoveConstants(*inner, device);
    }
    if (node->hasAttribute(torch::jit::attr::Subgraph)) {
      MoveConstants(*node->g(torch::jit::attr::Subgraph)->block(), device);
    }
    if (node->kind() != torch::jit::prim::Constant) continue;
    const auto value = torch::jit::toIValue(node->output());
    if (value.has_value() && value->isDevice()) {
      node->s_(torch::jit::attr::value, device);
    }
  }
}

torch::jit::Module Load(const std::string& path, at::Device device,
                        LoadOrder order) {
  if (order == LoadOrder::kPython && !device.is_cpu()) {
    torch::jit::Module module =
        torch::jit::load(path, at::kCPU, kWithoutDebugFiles);
    if (MoveAsPython(module, device)) return module;
  }
  return torch::jit::load(path, device, kWithoutDebugFiles);
}

}  // namespace

std::optional<Failure> RefuseUnlessZip(const std::string& path,
                                       std::string_view field) {
  constexpr std::string_view kZipStart = "PK\x03\x04";
  std::ifstream file(path, std::ios::binary);
  std::array<char, kZipStart.size()> start = {};
  if (!file) {
    return BadRequest(field,
                      absl::StrCat("the model's file cannot be read: ", path));
  }
  file.read(start.data(), start.size());
  if (file && std::string_view(start.data(), start.size()) == kZipStart) {
    return std::nullopt;
  }
  return BadRequest(field,
                    "the file is no TorchScript archive (not a zip file); save "
                    "the model with torch.jit.save");
}

torch::jit::Module LoadProgram(const std::string& path, at::Device device,
                               LoadOrder order) {
  torch::jit::Module module = Load(path, device, order);
  // The compilation unit has every method of every submodule, and the functions
  // they call.
  const auto unit = module._ivalue()->compilation_unit();
  for (torch::jit::Function* function : unit->get_functions()) {
    if (auto* graph = torch::jit::tryToGraphFunction(*function)) {
      MoveConstants(*graph->graph()->block(), device.str());
    }
  }
  return module;
}

}  // namespace memplan::gpu
