// Starts memplan-worker processes and bounds what they may do; process_session.h
// speaks with them. A worker is believed in nothing: it may die, hang, or send
// anything, and costs its own trial alone.
#ifndef MEMPLAN_SERVER_WORKERS_PROCESS_TRIAL_RUNNER_H_
#define MEMPLAN_SERVER_WORKERS_PROCESS_TRIAL_RUNNER_H_

#include <chrono>
#include <cstddef>
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
#include "server/workers/worker_records.h"

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
  // Workers that wait, started ahead, for each GPU that a probe ran on, or was
  // expected on, within `spare_patience`.
  size_t spare_workers = 0;
  std::chrono::milliseconds spare_patience = std::chrono::minutes(10);
  // The GPUs are made up (--devices script:FILE): a real worker is refused on
  // them.
  bool scripted_gpus = false;
  // Called with the GPU's id just before each worker on it is started; may be
  // empty, or return an empty reader. Thread-safe.
  std::function<ContextReader(const std::string& device_id)> begin_context;
};

// Thread-safe: several trials may run at once.
class ProcessTrialRunner : public TrialRunner {
 public:
  virtual WorkerCounts Counts() const = 0;

  // A probe on this GPU may come soon: has spare workers started for it, if there
  // are to be any. Returns at once.
  virtual void Expect(const std::string& device_id) = 0;

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
