// Has operator calls run, each alone: takes what the store knows, has workers
// share the rest, a stretch at a time, and keeps what came of it.
#ifndef MEMPLAN_SERVER_JOBS_CALL_RUNS_H_
#define MEMPLAN_SERVER_JOBS_CALL_RUNS_H_

#include <chrono>
#include <cstddef>
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
  // `kept` may be null and must outlive it. `cap` guards the device, in each
  // worker. `switches` are those of cuDNN that are on in the workers.
  CallRuns(CallResults* kept, std::optional<Bytes> cap, std::string switches)
      : kept_(kept), cap_(cap), switches_(std::move(switches)) {}

  // Runs those of `calls` that are not known yet. `workers` are of one version and
  // on one device, at least one; should another than the first be lost, that one
  // runs its share. Called again with the same calls after an error, it goes on
  // where that came. kCancelled; kUnavailable if the first worker is gone.
  absl::Status Run(const std::vector<DistinctCall>& calls,
                   const std::vector<WorkerSession*>& workers,
                   std::chrono::milliseconds timeout);

  // For each call its plans; none of one that could not be run.
  std::vector<std::vector<CallPlan>> Take() { return std::move(plans_); }

 private:
  // Places in the calls, and what a worker told of the first of them.
  struct Share {
    std::vector<size_t> places;
    std::vector<gpu::CallResult> results;
    absl::Status status;
  };

  absl::Status FindKept(const std::vector<DistinctCall>& calls,
                        WorkerSession& worker);
  std::vector<size_t> Unknown() const;
  void RunShare(const std::vector<DistinctCall>& calls, WorkerSession& worker,
                std::chrono::milliseconds timeout, Share& share) const;
  // What `share` told becomes known.
  void Learn(const std::vector<DistinctCall>& calls, Share share);

  CallResults* const kept_;
  const std::optional<Bytes> cap_;
  const std::string switches_;
  CallPlace place_;
  std::vector<std::vector<CallPlan>> plans_;
  std::vector<bool> is_known_;  // or cannot be
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_CALL_RUNS_H_
