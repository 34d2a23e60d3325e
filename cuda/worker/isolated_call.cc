#include "cuda/worker/isolated_call.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cuda/worker/call_arguments.h"
#include "cuda/worker/torch_failure.h"

namespace memplan::gpu {
namespace {

Failure Impossible(std::string message) {
  return {.end = EndKind::kModelFailed,
          .field = "",
          .message = TrimmedMessage(message)};
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
  const auto handle = c10::Dispatcher::singleton().findSchema(
      {call.operator_name, call.overload});
  if (!handle.has_value()) {
    return Impossible(absl::StrCat("libtorch has no operator ",
                                   call.operator_name, " with the overload \"",
                                   call.overload, "\""));
  }
  const at::NoGradGuard no_gradients;
  const at::Device device = TorchDevice(kind_);
  auto arguments = MakeCallArguments(call, handle->schema(), device);
  if (!arguments.ok()) {
    return Impossible(std::string(arguments.status().message()));
  }
  const auto state = device_.State();
  if (!state.ok()) return Impossible(std::string(state.status().message()));
  run.held = state->reserved;
  // The arguments outlive the call, as they do in a model.
  torch::jit::Stack stack = *arguments;
  {
    const Capture capture(recorder_, run.events);
    handle->callBoxed(stack);
  }
  Synchronize(device);
  return std::nullopt;
}

}  // namespace memplan::gpu
