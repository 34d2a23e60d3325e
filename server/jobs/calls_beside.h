// Has operators run alone in workers while the caller goes on with another one:
// the last order of those workers, which are gone when they are done.
#ifndef MEMPLAN_SERVER_JOBS_CALLS_BESIDE_H_
#define MEMPLAN_SERVER_JOBS_CALLS_BESIDE_H_

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "planner/trace/irregular_calls.h"
#include "server/jobs/call_runs.h"
#include "server/jobs/worker_session.h"

namespace memplan {

// Used by one thread.
class CallsBeside {
 public:
  // Begins. `runs` and `calls` are its own until Wait has returned. If there is no
  // thread to be had, all is done when this returns.
  CallsBeside(CallRuns& runs, const std::vector<DistinctCall>& calls,
              std::vector<std::unique_ptr<WorkerSession>> workers,
              std::chrono::milliseconds timeout);
  // As Wait.
  ~CallsBeside() { (void)Wait(); }
  CallsBeside(const CallsBeside&) = delete;
  CallsBeside& operator=(const CallsBeside&) = delete;

  // Waits for the end of the workers and returns what CallRuns::Run did.
  const absl::Status& Wait();
  // How long the operators took. After Wait.
  double seconds() const { return seconds_; }

 private:
  void Run(std::chrono::milliseconds timeout);

  CallRuns& runs_;
  const std::vector<DistinctCall>& calls_;
  std::vector<std::unique_ptr<WorkerSession>> workers_;
  absl::Status status_;
  double seconds_ = 0;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_CALLS_BESIDE_H_
