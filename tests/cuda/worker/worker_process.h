// Starts the real memplan-worker as the daemon would, for tests that play the
// daemon.
#ifndef MEMPLAN_TESTS_CUDA_WORKER_WORKER_PROCESS_H_
#define MEMPLAN_TESTS_CUDA_WORKER_WORKER_PROCESS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "cuda/worker/messages/messages.h"
#include "tests/cuda/worker/trial/memory_file.h"

namespace memplan::gpu {

// One worker. Ends it, if it has not ended, when it goes out of scope.
class WorkerProcess {
 public:
  // `option`, unless null, is on the worker's command line.
  explicit WorkerProcess(size_t trace_records = 1 << 20,
                         const char* option = nullptr);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  void Send(const DaemonMessage& message);
  // The next message; fails the test and returns nothing if none comes.
  std::optional<WorkerMessage> Receive();
  void CloseChannel();
  // Waits for the end; the exit code, or minus the signal that ended it.
  int Wait();

  pid_t pid() const { return pid_; }
  const MemoryFile& trace() const { return trace_; }

 private:
  MemoryFile trace_;
  int channel_ = -1;
  pid_t pid_ = -1;
};

// All that one trial shows.
struct TrialRun {
  Hello hello;
  std::vector<Progress> progress;
  std::optional<Settled> settled;
  Report report;
  int exit_code = -1;
};

// Plays the daemon until `request` is reported; the worker may go on.
TrialRun RunOrderIn(WorkerProcess& worker, const TrialRequest& request);

// The same until `worker` has ended.
TrialRun RunTrialIn(WorkerProcess& worker, const TrialRequest& request);

// The report of a trial of one of the tests' models on the CPU device.
Report ReportOf(const TrialRequest& request);

// A request for the model `name` of make_models.py at batch 2, 3 steps, a cap of
// 1 GiB, on the CPU device.
TrialRequest RequestFor(const std::string& name, const std::string& inputs);

// The same, to be trained as eager Python does.
TrialRequest TrainingOf(const std::string& name, const std::string& inputs,
                        Optimizer optimizer);

}  // namespace memplan::gpu

#endif  // MEMPLAN_TESTS_CUDA_WORKER_WORKER_PROCESS_H_
