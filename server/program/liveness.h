// Checks that a part of the daemon answers, for the watchdog: not by a look at
// it, but by giving it something to do. What a driver or a worker does is left
// out: a daemon that has begun anew would wait for them again.
#ifndef MEMPLAN_SERVER_PROGRAM_LIVENESS_H_
#define MEMPLAN_SERVER_PROGRAM_LIVENESS_H_

#include <grpcpp/server.h>

#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "server/base/work_queue.h"

namespace memplan {

// kUnavailable unless `queue`, called `name` in the error, does a piece of work
// within `patience`.
absl::Status CheckQueueWorks(const std::string& name, WorkQueue& queue,
                             std::chrono::milliseconds patience);

// kUnavailable unless `server` answers a health check from within this process.
absl::Status CheckServerAnswers(grpc::Server& server,
                                std::chrono::milliseconds patience);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_PROGRAM_LIVENESS_H_
