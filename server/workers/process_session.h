// A session with one memplan-worker process: gives it orders, makes trials of its
// answers, and sees to it that it is gone in the end.
//
//   start ─▶ hello ─▶ order ─▶ … ─▶ answer ─▶ order ─▶ … ─▶ answer ─▶ exit
//     └───────┴────────┴── dies, hangs, nonsense, cancelled ──┴────────▶ killed
#ifndef MEMPLAN_SERVER_WORKERS_PROCESS_SESSION_H_
#define MEMPLAN_SERVER_WORKERS_PROCESS_SESSION_H_

#include <chrono>
#include <memory>
#include <optional>

#include "server/jobs/trial_runner.h"
#include "server/jobs/worker_session.h"
#include "server/workers/memory_group.h"
#include "server/workers/process_trial_runner.h"
#include "server/workers/scratch_folders.h"
#include "server/workers/worker.h"
#include "server/workers/worker_records.h"

namespace memplan {

// What a session is made of. The references must outlive it.
struct SessionParts {
  const WorkerOptions& options;
  WorkerRecords& records;
  CancelSignal& cancel;
  SessionOrder order;
  std::chrono::steady_clock::time_point begun;
  ContextReader context;  // may be empty
  // Both outlive the worker.
  ScratchFolder scratch;
  MemoryGroup group;
  Worker worker;
};

std::unique_ptr<WorkerSession> MakeProcessSession(SessionParts parts);

// WORKER_UNUSABLE and SANDBOX_MISSING.
absl::Status WorkerUnusable(const std::string& message);
absl::Status SandboxMissing(const std::string& what);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_WORKERS_PROCESS_SESSION_H_
