// What is written down of all workers: how they started and ended, and what they
// said of their sandbox.
#ifndef MEMPLAN_SERVER_WORKERS_WORKER_RECORDS_H_
#define MEMPLAN_SERVER_WORKERS_WORKER_RECORDS_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "server/workers/sandbox_status.h"

namespace memplan {

// How workers started and ended, since the runner was made.
struct WorkerCounts {
  int64_t started = 0;
  // Ends, by cause; each worker that started and ended is in one of them.
  int64_t exited = 0;            // by itself, after its last answer
  int64_t died = 0;              // by itself, with no answer
  int64_t killed_by_signal = 0;  // by a signal that was not ours
  int64_t timed_out = 0;         // killed by us: start or order too long
  int64_t protocol_error = 0;    // killed by us: it spoke nonsense
  int64_t cancelled = 0;         // killed by us: it was not wanted any more
  int64_t lingered = 0;          // killed by us: did not exit after its answer
  // Not started at all: the program is missing, no memory, no descriptors.
  int64_t start_failed = 0;
};

// Thread-safe.
class WorkerRecords {
 public:
  explicit WorkerRecords(SandboxStatus sandbox)
      : sandbox_(std::move(sandbox)) {}

  void Count(int64_t WorkerCounts::*cause) {
    const std::lock_guard lock(mutex_);
    ++(counts_.*cause);
  }
  WorkerCounts Counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

  // A worker told of its layers, or `fault` says why none could.
  void Learn(const std::vector<gpu::SandboxLayer>& layers, std::string fault) {
    const std::lock_guard lock(mutex_);
    sandbox_.layers = LayersFromWorker(layers);
    sandbox_.fault = std::move(fault);
  }
  SandboxStatus Sandbox() const {
    const std::lock_guard lock(mutex_);
    return sandbox_;
  }

 private:
  mutable std::mutex mutex_;
  WorkerCounts counts_;    // under mutex_
  SandboxStatus sandbox_;  // under mutex_
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_WORKERS_WORKER_RECORDS_H_
