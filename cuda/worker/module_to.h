// How nn.Module.to puts a module on a device: the children first, in their order,
// then the module's own parameters, then its buffers. torch.jit.load takes a
// module's own first, as the archive has them. With other neighbours in the first
// segments, other requests find room there later.
//
//   file     class_token  conv.weight  conv.bias  pos_embedding  layers …
//   Python   conv.weight  conv.bias  layers …  pos_embedding  class_token
#ifndef MEMPLAN_CUDA_WORKER_MODULE_TO_H_
#define MEMPLAN_CUDA_WORKER_MODULE_TO_H_

#include <ATen/core/TensorBody.h>
#include <c10/core/Device.h>
#include <torch/csrc/jit/api/module.h>

#include <cstddef>
#include <optional>
#include <vector>

namespace memplan::gpu {

// All tensors that the module has, each once: parameters and buffers in the order
// of nn.Module.to, then what else its attributes hold, then constants of graphs,
// which Python has no tensors for.
std::vector<at::Tensor> TensorsAsPythonMoves(const torch::jit::Module& module);

// Moves them one after the other; whoever has one of them has it on `device` then,
// and tied weights, which an archive has as tensors of one storage, stay one.
// False, and nothing moved, if one is of a kind whose data cannot be replaced
// (sparse or quantized) or a view of a part of what another has.
bool MoveAsPython(const torch::jit::Module& module, at::Device device);

// For each tensor the place of the first that is the same memory, its own if there
// is none. Nothing if two have a storage in common but are different parts of it.
std::optional<std::vector<size_t>> FirstOfSameMemory(
    const std::vector<at::Tensor>& tensors);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_MODULE_TO_H_
