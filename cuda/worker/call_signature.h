// What an operator is called with, as the trace keeps it: sizes, strides, types
// and numbers, never the contents of tensors.
#ifndef MEMPLAN_CUDA_WORKER_CALL_SIGNATURE_H_
#define MEMPLAN_CUDA_WORKER_CALL_SIGNATURE_H_

#include <ATen/record_function.h>

#include <string>

namespace memplan::gpu {

// The signature's text (planner/trace/signature_text.h); empty for what is no
// operator of the dispatcher. Wants a callback that needs inputs.
std::string CallSignature(const at::RecordFunction& call);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_CALL_SIGNATURE_H_
