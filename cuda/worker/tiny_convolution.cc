#include "cuda/worker/tiny_convolution.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <array>
#include <cstdint>
#include <optional>

#include "cuda/worker/torch_failure.h"

namespace memplan::gpu {
namespace {

std::optional<Failure> RunOn(at::Device device) {
  constexpr int64_t kChannels = 8;
  constexpr int64_t kSide = 8;
  constexpr std::array<int64_t, 2> kOne = {1, 1};
  constexpr std::array<int64_t, 2> kZero = {0, 0};
  const at::NoGradGuard without_gradients;
  const auto options = at::TensorOptions().device(device).dtype(at::kFloat);
  const at::Tensor image = at::zeros({1, kChannels, kSide, kSide}, options);
  const at::Tensor weight = at::zeros({kChannels, kChannels, 3, 3}, options);
  const at::Tensor output =
      at::convolution(image, weight, /*bias=*/{}, /*stride=*/kOne,
                      /*padding=*/kOne, /*dilation=*/kOne,
                      /*transposed=*/false, /*output_padding=*/kZero,
                      /*groups=*/1);
  (void)at::convolution_backward(
      output, image, weight, /*bias_sizes=*/at::OptionalIntArrayRef(),
      /*stride=*/kOne, /*padding=*/kOne, /*dilation=*/kOne,
      /*transposed=*/false, /*output_padding=*/kZero, /*groups=*/1,
      /*output_mask=*/{true, true, false});
  Synchronize(device);
  return std::nullopt;
}

}  // namespace

void RunTinyConvolution(DeviceKind kind, Device& device) {
  constexpr bool kSandboxed = false;  // nobody reads the words of a refusal
  device.BeginSpan();
  (void)GuardedFailure(device, kSandboxed,
                       [&] { return RunOn(TorchDevice(kind)); });
}

}  // namespace memplan::gpu
