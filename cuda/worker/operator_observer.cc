#include "cuda/worker/operator_observer.h"

#include <ATen/record_function.h>

#include <memory>

#include "cuda/worker/call_signature.h"

namespace memplan::gpu {
namespace {

// torch takes plain functions, which can carry nothing.
Recorder* the_recorder = nullptr;

std::unique_ptr<at::ObserverContext> OnStart(const at::RecordFunction& call) {
  the_recorder->BeginOperator(call.name());
  return nullptr;
}

std::unique_ptr<at::ObserverContext> OnStartWithInputs(
    const at::RecordFunction& call) {
  the_recorder->BeginOperator(call.name(), CallSignature(call));
  return nullptr;
}

void OnEnd(const at::RecordFunction& /*call*/, at::ObserverContext* /*none*/) {
  the_recorder->EndOperator();
}

}  // namespace

void ObserveOperators(Recorder& recorder, Signatures signatures) {
  the_recorder = &recorder;
  const bool with_inputs = signatures == Signatures::kRecorded;
  at::addGlobalCallback(at::RecordFunctionCallback(
                            with_inputs ? &OnStartWithInputs : &OnStart, &OnEnd)
                            .needsInputs(with_inputs)
                            .scopes({at::RecordScope::FUNCTION}));
  // An autograd node's arguments say nothing that its operators' do not.
  at::addGlobalCallback(at::RecordFunctionCallback(&OnStart, &OnEnd)
                            .scopes({at::RecordScope::BACKWARD_FUNCTION}));
}

}  // namespace memplan::gpu
