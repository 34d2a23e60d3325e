// Tells the recorder which operators and autograd nodes run, and with what
// arguments the operators are called.
#ifndef MEMPLAN_CUDA_WORKER_OPERATOR_OBSERVER_H_
#define MEMPLAN_CUDA_WORKER_OPERATOR_OBSERVER_H_

#include "cuda/worker/trial/recorder.h"

namespace memplan::gpu {

enum class Signatures { kNone, kRecorded };

// Records every operator from now on, on every thread, for the rest of the
// process. Call it once, before torch starts threads. `recorder` lives as long
// as the process.
void ObserveOperators(Recorder& recorder, Signatures signatures);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_OPERATOR_OBSERVER_H_
