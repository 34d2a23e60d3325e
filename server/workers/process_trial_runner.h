// Runs each trial in a fresh memplan-worker process and speaks the protocol of
// cuda/worker/messages with it. A worker is believed in nothing: it may die,
// hang, or send anything, and costs its own trial alone.
//
//   start ─▶ hello ─▶ run ─▶ progress* ─▶ settled ─▶ proceed ─▶ report ─▶ exit
//     └───────┴────────┴─── dies, hangs, nonsense, cancelled ──────┴──▶ killed
#ifndef MEMPLAN_SERVER_WORKERS_PROCESS_TRIAL_RUNNER_H_
#define MEMPLAN_SERVER_WORKERS_PROCESS_TRIAL_RUNNER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "planner/base/bytes.h"
#include "server/devices/context_reading.h"
#include "server/jobs/trial_runner.h"
#include "server/workers/memory_group.h"
#include "server/workers/sandbox_status.h"

namespace memplan {

// What a worker holds on its device outside its allocator, now that its
// allocator holds `reserved`; unset if nobody can tell. Called once, on the
// trial's thread, while the worker waits.
using ContextReader =
    std::function<std::optional<ContextReading>(int64_t pid, Bytes reserved)>;

struct WorkerOptions {
  std::string program;       // path of memplan-worker
  std::string library_path;  // the worker's LD_LIBRARY_PATH; empty for none
  std::chrono::milliseconds start_timeout = std::chrono::seconds(30);
  // How long a worker may take to exit after its report.
  std::chrono::milliseconds exit_timeout = std::chrono::seconds(5);
  SandboxMode sandbox = SandboxMode::kOff;
  // Where each trial's own folder is made (scratch_folders.h); empty: workers
  // have this process's TMPDIR and HOME.
  std::string scratch_path;
  // Bounds the memory of workers; none: they have no bound, and no such layer.
  std::shared_ptr<MemoryGroups> memory_groups;
  Bytes trace_bytes = MiB(128);  // room for the trace of a trial
  // The GPUs are made up (--devices script:FILE): a real worker is refused on
  // them.
  bool scripted_gpus = false;
  // Called with the GPU's id just before each worker on it is started; may be
  // empty, or return an empty reader. Thread-safe.
  std::function<ContextReader(const std::string& device_id)> begin_context;
};

// How workers started and ended, since the runner was made.
struct WorkerCounts {
  int64_t started = 0;
  // Ends, by cause; each worker that started and ended is in one of them.
  int64_t exited = 0;            // by itself, after its report
  int64_t died = 0;              // by itself, with no report
  int64_t killed_by_signal = 0;  // by a signal that was not ours
  int64_t timed_out = 0;         // killed by us: start or trial too long
  int64_t protocol_error = 0;    // killed by us: it spoke nonsense
  int64_t cancelled = 0;         // killed by us: the trial was not wanted
  int64_t lingered = 0;          // killed by us: did not exit after its report
  // Not started at all: the program is missing, no memory, no descriptors.
  int64_t start_failed = 0;
};

// Thread-safe: several trials may run at once.
class ProcessTrialRunner : public TrialRunner {
 public:
  virtual WorkerCounts Counts() const = 0;

  // What is known of the sandbox by now.
  virtual SandboxStatus Sandbox() const = 0;

  // Has a worker try the sandbox and logs in one line what came of it; blocks
  // until `cancel` at the latest, and does nothing with the mode `off`. An error
  // only with the mode `require`: SANDBOX_MISSING.
  virtual absl::Status LearnSandbox(const CancelSignal& cancel) = 0;
};

std::unique_ptr<ProcessTrialRunner> MakeProcessTrialRunner(
    WorkerOptions options);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_WORKERS_PROCESS_TRIAL_RUNNER_H_
