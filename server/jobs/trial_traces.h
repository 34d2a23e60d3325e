// The traces that trials of a search left, read as the spec's program would have
// left them.
#ifndef MEMPLAN_SERVER_JOBS_TRIAL_TRACES_H_
#define MEMPLAN_SERVER_JOBS_TRIAL_TRACES_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "planner/plan/trial.h"
#include "planner/trace/trace.h"
#include "server/jobs/execution_tools.h"
#include "server/probe/probe.h"

namespace memplan {

// Immutable. Spec and tools outlive it.
class TrialTraces {
 public:
  TrialTraces(const ProbeSpec& spec, const ExecutionTools& tools)
      : spec_(spec), tools_(tools) {}

  // That at `path`. Errors as of the tools' reader and of AsSpecTrains.
  absl::StatusOr<Trace> Read(const std::string& path) const;

  // That of trial `number` (from 1), if it got through all its steps and left one
  // that can be read.
  std::optional<Trace> Of(const Trial& trial, int number) const;

 private:
  const ProbeSpec& spec_;
  const ExecutionTools& tools_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_TRIAL_TRACES_H_
