// What happens in the worker, as records of the trace: phases, operators, and
// the allocator's events with the operator that was running. Each thread has its
// own stack of operators, because autograd runs backward on a thread of its own.
#ifndef MEMPLAN_CUDA_WORKER_TRIAL_RECORDER_H_
#define MEMPLAN_CUDA_WORKER_TRIAL_RECORDER_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "cuda/worker/messages/trace_layout.h"
#include "cuda/worker/trial/trace_writer.h"
#include "planner/base/bytes.h"

namespace memplan::gpu {

// Thread-safe. RecordMemory may be called with an allocator's lock held.
class Recorder {
 public:
  // `writer` outlives the recorder.
  explicit Recorder(TraceWriter& writer) : writer_(writer) {}

  void BeginPhase(std::string_view name);
  // Operators nest within their thread, and end in the order in which they
  // would be unwound. `signature` is its text, if it has one
  // (planner/trace/signature_text.h).
  void BeginOperator(std::string_view name, std::string_view signature = "");
  void EndOperator();
  // One event of the allocator, on the calling thread.
  void RecordMemory(TraceEvent event, Bytes bytes, uint64_t address,
                    uint64_t stream);

  // The trace begins anew. No operator may be running on any thread.
  void Restart() { writer_.Restart(); }

  // Until EndCapture events of memory are kept here, and nothing is written to
  // the trace.
  void BeginCapture();
  // Everything since BeginCapture, in order.
  std::vector<TraceRecord> EndCapture();

 private:
  void Append(const TraceRecord& record);

  TraceWriter& writer_;
  std::atomic<bool> is_capturing_ = false;
  std::mutex mutex_;
  std::vector<TraceRecord> captured_;  // guarded by mutex_
};

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_TRIAL_RECORDER_H_
