#include "cuda/worker/isolated_call.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cuda/worker/autocast_scope.h"
#include "cuda/worker/call_arguments.h"
#include "cuda/worker/dtype_names.h"
#include "cuda/worker/torch_failure.h"

namespace memplan::gpu {
namespace {

Failure Impossible(std::string message) {
  return {.end = EndKind::kModelFailed,
          .field = "",
          .message = TrimmedMessage(message)};
}

// `mark` follows the overload; empty is none, nothing is an unknown one.
std::optional<Autocast> AutocastOf(std::string_view mark) {
  if (mark.empty()) return Autocast::kNone;
  mark.remove_prefix(1);
  if (mark == DtypeName(at::kHalf)) return Autocast::kFloat16;
  if (mark == DtypeName(at::kBFloat16)) return Autocast::kBFloat16;
  return std::nullopt;
}

bool NeedsGradients(const DistinctCall& call) {
  return std::any_of(call.arguments.begin(), call.arguments.end(),
                     [](const CallArgument& argument) {
                       return argument.kind == ArgumentKind::kTensor &&
                              (argument.dtype.ends_with(kLeafMark) ||
                               argument.dtype.ends_with(kGradientMark));
                     });
}

// Keeps events of memory while it lives.
class Capture {
 public:
  Capture(Recorder& recorder, std::vector<TraceRecord>& events)
      : recorder_(recorder), events_(events) {
    recorder_.BeginCapture();
  }
  ~Capture() { events_ = recorder_.EndCapture(); }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

 private:
  Recorder& recorder_;
  std::vector<TraceRecord>& events_;
};

}  // namespace

CallRun IsolatedCalls::Run(const DistinctCall& call) {
  CallRun run;
  constexpr bool kSandboxed = false;  // words of a refusal say enough here
  device_.BeginSpan();
  run.failure = GuardedFailure(device_, kSandboxed,
                               [&] { return RunGuarded(call, run); });
  return run;
}

std::optional<Failure> IsolatedCalls::RunGuarded(const DistinctCall& call,
                                                 CallRun& run) {
  const size_t mark =
      std::min(call.overload.find(kAutocastMark), call.overload.size());
  const std::string overload = call.overload.substr(0, mark);
  const auto handle =
      c10::Dispatcher::singleton().findSchema({call.operator_name, overload});
  if (!handle.has_value()) {
    return Impossible(absl::StrCat("libtorch has no operator ",
                                   call.operator_name, " with the overload \"",
                                   overload, "\""));
  }
  const std::optional<Autocast> autocast =
      AutocastOf(std::string_view(call.overload).substr(mark));
  if (!autocast.has_value()) {
    return Impossible("it ran under an autocast that is not known here");
  }
  const at::Device device = TorchDevice(kind_);
  const at::NoGradGuard without_gradients;
  auto arguments = MakeCallArguments(call, handle->schema(), device);
  if (!arguments.ok()) {
    return Impossible(std::string(arguments.status().message()));
  }
  const auto state = device_.State();
  if (!state.ok()) return Impossible(std::string(state.status().message()));
  run.held = state->reserved;
  // The arguments outlive the call, as they do in a model, and so do weights that
  // were cast.
  torch::jit::Stack stack = *arguments;
  const at::AutoGradMode gradients(NeedsGradients(call));
  const AutocastScope casting(*autocast, device.type());
  {
    const Capture capture(recorder_, run.events);
    handle->callBoxed(stack);
  }
  Synchronize(device);
  return std::nullopt;
}

}  // namespace memplan::gpu
