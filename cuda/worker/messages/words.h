// The words that stand for each enum's values in the messages.
#ifndef MEMPLAN_CUDA_WORKER_MESSAGES_WORDS_H_
#define MEMPLAN_CUDA_WORKER_MESSAGES_WORDS_H_

#include <cstddef>
#include <string_view>
#include <utility>

#include "cuda/worker/messages/messages.h"

namespace memplan::gpu {

template <typename Value>
using Word = std::pair<Value, std::string_view>;

inline constexpr Word<DeviceKind> kDeviceKindWords[] = {
    {DeviceKind::kCuda, "cuda"},
    {DeviceKind::kCpu, "cpu"},
};

inline constexpr Word<Mode> kModeWords[] = {
    {Mode::kInfer, "infer"},
    {Mode::kInferGrad, "infer-grad"},
    {Mode::kTrain, "train"},
};

inline constexpr Word<Optimizer> kOptimizerWords[] = {
    {Optimizer::kNone, "none"},
    {Optimizer::kSgd, "sgd"},
    {Optimizer::kSgdMomentum, "sgd-momentum"},
    {Optimizer::kAdam, "adam"},
    {Optimizer::kAdamW, "adamw"},
};

inline constexpr Word<RunAs> kRunAsWords[] = {
    {RunAs::kTorchScript, "torchscript"},
    {RunAs::kEager, "eager"},
};

inline constexpr Word<Preparation> kPreparationWords[] = {
    {Preparation::kProgram, "program"},
    {Preparation::kRehearsedProgram, "rehearsed-program"},
    {Preparation::kLibraries, "libraries"},
};

inline constexpr Word<Autocast> kAutocastWords[] = {
    {Autocast::kNone, "none"},
    {Autocast::kBFloat16, "bf16"},
    {Autocast::kFloat16, "fp16"},
};

inline constexpr Word<ZeroGrad> kZeroGradWords[] = {
    {ZeroGrad::kNone, "none"},
    {ZeroGrad::kZero, "zero"},
};

inline constexpr Word<OptimizerImplementation> kOptimizerImplementationWords[] =
    {
        {OptimizerImplementation::kLibtorch, "libtorch"},
        {OptimizerImplementation::kForLoop, "for-loop"},
        {OptimizerImplementation::kForeach, "foreach"},
        {OptimizerImplementation::kFused, "fused"},
};

inline constexpr Word<StepKind> kStepKindWords[] = {
    {StepKind::kStep, "step"},
    {StepKind::kOtherBatch, "other-batch"},
    {StepKind::kEvaluation, "evaluation"},
    {StepKind::kAgain, "again"},
};

inline constexpr Word<EndKind> kEndKindWords[] = {
    {EndKind::kRan, "ran"},
    {EndKind::kOutOfMemory, "out-of-memory"},
    {EndKind::kShapeRefused, "shape-refused"},
    {EndKind::kModelFailed, "model-failed"},
    {EndKind::kBadRequest, "bad-request"},
    {EndKind::kSandboxRefused, "sandbox-refused"},
};

inline constexpr Word<EndClass> kEndClassWords[] = {
    {EndClass::kNone, "none"},
    {EndClass::kMemory, "oom"},
    {EndClass::kFragmentation, "fragmentation"},
    {EndClass::kDriverMemory, "driver-oom"},
    {EndClass::kLibraryLoading, "library-loading-oom"},
    {EndClass::kLibraryUnderPressure, "library-under-pressure"},
    {EndClass::kSpilled, "spilled"},
    {EndClass::kHostMemory, "host-memory"},
    {EndClass::kLaunchLimit, "launch-limit"},
    {EndClass::kIndexLimit, "index-limit"},
    {EndClass::kFixedShape, "fixed-shape"},
    {EndClass::kDeviceAssert, "device-assert"},
    {EndClass::kUnsupported, "unsupported"},
    {EndClass::kConfiguration, "configuration"},
    {EndClass::kOther, "other"},
};

inline constexpr Word<LayerState> kLayerStateWords[] = {
    {LayerState::kInForce, "in-force"},
    {LayerState::kMissing, "missing"},
    {LayerState::kOff, "off"},
};

// The word of `value`, or empty.
template <typename Value, size_t kCount>
constexpr std::string_view WordFor(Value value,
                                   const Word<Value> (&words)[kCount]) {
  for (const auto& [candidate, word] : words) {
    if (candidate == value) return word;
  }
  return "";
}

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_MESSAGES_WORDS_H_
