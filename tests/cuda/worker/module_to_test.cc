#include "cuda/worker/module_to.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace memplan::gpu {
namespace {

using testing::ElementsAre;
using testing::Optional;

// Tensors are told apart by their number of elements.
std::vector<int64_t> Sizes(const std::vector<at::Tensor>& tensors) {
  std::vector<int64_t> sizes;
  for (const at::Tensor& tensor : tensors) sizes.push_back(tensor.numel());
  return sizes;
}

at::Tensor OfSize(int64_t size) { return at::ones({size}); }

// Registered in the order of an archive: a module's own first.
torch::jit::Module MakeModel() {
  const auto unit = std::make_shared<torch::jit::CompilationUnit>();
  torch::jit::Module projection("__torch__.Projection", unit);
  projection.register_parameter("weight", OfSize(1), /*is_buffer=*/false);
  projection.register_parameter("bias", OfSize(2), /*is_buffer=*/false);

  torch::jit::Module attention("__torch__.Attention", unit);
  attention.register_buffer("mask", OfSize(3));
  attention.register_parameter("in_projection", OfSize(4), false);
  attention.register_module("out_projection", projection);

  torch::jit::Module model("__torch__.Model", unit);
  model.register_parameter("token", OfSize(5), /*is_buffer=*/false);
  model.register_attribute("table", c10::TensorType::get(), OfSize(6));
  model.register_parameter("head", OfSize(7), /*is_buffer=*/false);
  model.register_module("attention", attention);
  model.register_module("again", projection);  // shared
  return model;
}

void AddConstant(const torch::jit::Module& model, const at::Tensor& constant) {
  const auto graph =
      torch::jit::toGraphFunction(model.get_method("forward").function())
          .graph();
  const torch::jit::WithInsertPoint begin(graph->block()->nodes().front());
  graph->insertConstant(constant);
}

TEST(ModuleTo, PutsChildrenBeforeOwnParametersAndThoseBeforeBuffers) {
  EXPECT_THAT(Sizes(TensorsAsPythonMoves(MakeModel())),
              ElementsAre(1, 2, 4, 3, 5, 7, 6));
}

TEST(ModuleTo, PutsConstantsOfGraphsLast) {
  torch::jit::Module model = MakeModel();
  model.define("def forward(self, x):\n  return x + self.token\n");
  AddConstant(model, OfSize(8));
  EXPECT_THAT(Sizes(TensorsAsPythonMoves(model)),
              ElementsAre(1, 2, 4, 3, 5, 7, 6, 8));
}

TEST(ModuleTo, MovesNothingIfOneCannotBeMoved) {
  torch::jit::Module model = MakeModel();
  model.register_buffer("sparse", OfSize(9).to_sparse());
  EXPECT_FALSE(MoveAsPython(model, at::kCPU));
}

// As tied weights are when an archive is read.
TEST(ModuleTo, KnowsTensorsOfOneMemory) {
  const at::Tensor table = at::ones({4, 2});
  const at::Tensor head = table.alias();
  EXPECT_THAT(FirstOfSameMemory({OfSize(1), table, OfSize(3), head}),
              Optional(ElementsAre(0, 1, 2, 1)));
  EXPECT_EQ(FirstOfSameMemory({table, table.t()}), std::nullopt);
  EXPECT_EQ(FirstOfSameMemory({table[0], table[1]}), std::nullopt);
}

TEST(ModuleTo, KeepsTiedWeightsOne) {
  torch::jit::Module model = MakeModel();
  const at::Tensor token = model.attr("token").toTensor();
  model.register_parameter("tied", token.alias(), /*is_buffer=*/false);
  EXPECT_TRUE(MoveAsPython(model, at::kCPU));
  EXPECT_EQ(model.attr("tied").toTensor().data_ptr(),
            model.attr("token").toTensor().data_ptr());
}

TEST(ModuleTo, MovesNothingThatIsAPartOfAnother) {
  torch::jit::Module model = MakeModel();
  const at::Tensor head = model.attr("head").toTensor();
  model.register_parameter("part", head.slice(0, 1, 3), /*is_buffer=*/false);
  EXPECT_FALSE(MoveAsPython(model, at::kCPU));
}

TEST(ModuleTo, KeepsWhichTensorsAreTrained) {
  const torch::jit::Module model = MakeModel();
  const at::Tensor token = model.attr("token").toTensor();
  token.set_requires_grad(true);
  EXPECT_TRUE(MoveAsPython(model, at::kCPU));
  EXPECT_TRUE(model.attr("token").toTensor().is_same(token));
  EXPECT_TRUE(token.requires_grad());
  EXPECT_TRUE(token.is_leaf());
}

}  // namespace
}  // namespace memplan::gpu
