// Which ended probes the daemon forgets. Pure: probes in, ids out.
#ifndef MEMPLAN_SERVER_JOBS_RETENTION_H_
#define MEMPLAN_SERVER_JOBS_RETENTION_H_

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "server/probe/probe.h"

namespace memplan {

struct Retention {
  int keep_probes = 1000;  // ended ones, the last to end; at least 1
  std::chrono::seconds keep_probes_for = std::chrono::hours(24 * 30);
};

// The ids of ended probes that ended more than `keep_probes_for` before `now`,
// or that are not among the `keep_probes` that ended last. Never one that has
// not ended.
std::vector<std::string> ProbesToForget(
    std::span<const std::shared_ptr<const Probe>> probes,
    const Retention& retention, Time now);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_RETENTION_H_
