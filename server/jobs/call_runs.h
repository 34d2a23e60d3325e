// Has operator calls run, each alone: takes what the store knows, has a worker
// run the rest a stretch at a time, and keeps what came of it.
#ifndef MEMPLAN_SERVER_JOBS_CALL_RUNS_H_
#define MEMPLAN_SERVER_JOBS_CALL_RUNS_H_

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "planner/base/bytes.h"
#include "planner/trace/irregular_calls.h"
#include "server/jobs/worker_session.h"
#include "server/store/call_results.h"

namespace memplan {

// Not thread-safe.
class CallRuns {
 public:
  // `kept` may be null and must outlive it. `cap` guards the device. `switches`
  // are those of cuDNN that are on in the workers.
  CallRuns(CallResults* kept, std::optional<Bytes> cap, std::string switches)
      : kept_(kept), cap_(cap), switches_(std::move(switches)) {}

  // Those of `calls` that are not known yet. Called again with the same calls
  // after an error, it goes on where that came. kCancelled; kUnavailable if the
  // worker is gone.
  absl::Status Run(const std::vector<DistinctCall>& calls,
                   WorkerSession& worker, std::chrono::milliseconds timeout);

  // For each call its plans; none of one that could not be run.
  std::vector<std::vector<CallPlan>> Take() { return std::move(plans_); }

 private:
  absl::Status RunStretch(const std::vector<DistinctCall>& calls,
                          const std::vector<size_t>& chosen,
                          WorkerSession& worker,
                          std::chrono::milliseconds timeout);

  CallResults* const kept_;
  const std::optional<Bytes> cap_;
  const std::string switches_;
  CallPlace place_;
  std::vector<std::vector<CallPlan>> plans_;
  std::vector<bool> is_known_;  // or cannot be
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_CALL_RUNS_H_
