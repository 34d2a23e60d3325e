// A running worker and what it shares with the daemon: a channel to talk over,
// the memory of its trace, and its output.
#ifndef MEMPLAN_SERVER_WORKERS_WORKER_H_
#define MEMPLAN_SERVER_WORKERS_WORKER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/base/bytes.h"
#include "server/base/descriptor.h"
#include "server/workers/child_process.h"
#include "server/workers/trace_memory.h"
#include "server/workers/worker_output.h"

namespace memplan {

struct Worker {
  TraceMemory trace;
  WorkerOutput output;
  Descriptor channel;  // the daemon's end
  std::unique_ptr<ChildProcess> process;
};

// Starts `program` with the descriptors that cuda/worker/messages names. Errors
// as those of ChildProcess::Start.
absl::StatusOr<Worker> StartWorker(const std::string& program,
                                   std::vector<std::string> environment,
                                   Bytes trace_bytes);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_WORKERS_WORKER_H_
