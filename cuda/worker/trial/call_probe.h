// Runs operator calls one by one, each alone: as it likes, and then what it does
// when memory for its scratch is refused. How a call is run is behind an
// interface.
#ifndef MEMPLAN_CUDA_WORKER_TRIAL_CALL_PROBE_H_
#define MEMPLAN_CUDA_WORKER_TRIAL_CALL_PROBE_H_

#include <optional>
#include <vector>

#include "cuda/worker/messages/messages.h"
#include "cuda/worker/messages/trace_layout.h"
#include "cuda/worker/trial/device.h"
#include "cuda/worker/trial/ending.h"
#include "planner/base/bytes.h"
#include "planner/trace/irregular_calls.h"

namespace memplan::gpu {

// What one run of a call showed.
struct CallRun {
  std::optional<Failure> failure;   // if it did not end well
  Bytes held;                       // by the device when the call began
  std::vector<TraceRecord> events;  // of memory, while the call ran
};

// Implemented with torch, in tests by a table. Does not throw.
class CallRunner {
 public:
  virtual ~CallRunner() = default;
  // Makes arguments, runs the call and waits for the device; nothing of it is
  // held when this returns.
  virtual CallRun Run(const DistinctCall& call) = 0;
};

// One result for each call of `order`, under its cap, which is in force. Once a
// call has cost the process its device, that one and all after it have faults.
CallsReport ProbeCalls(const RunCalls& order, Device& device,
                       CallRunner& runner);

// Most plans that one call is asked for.
inline constexpr size_t kMostPlansProbed = 8;

// `report` with results replaced by faults from the one on with which it would
// not fit into a frame.
CallsReport FittingFrame(CallsReport report);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_TRIAL_CALL_PROBE_H_
