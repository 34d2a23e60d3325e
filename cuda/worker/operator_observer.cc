#include "cuda/worker/operator_observer.h"

#include <ATen/record_function.h>

#include <memory>

namespace memplan::gpu {
namespace {

// torch takes plain functions, which can carry nothing.
Recorder* the_recorder = nullptr;

std::unique_ptr<at::ObserverContext> OnStart(const at::RecordFunction& call) {
  the_recorder->BeginOperator(call.name());
  return nullptr;
}

void OnEnd(const at::RecordFunction& /*call*/, at::ObserverContext* /*none*/) {
  the_recorder->EndOperator();
}

}  // namespace

void ObserveOperators(Recorder& recorder) {
  the_recorder = &recorder;
  at::addGlobalCallback(at::RecordFunctionCallback(&OnStart, &OnEnd)
                            .scopes({at::RecordScope::FUNCTION,
                                     at::RecordScope::BACKWARD_FUNCTION}));
}

}  // namespace memplan::gpu
