#include "server/jobs/trial_traces.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "planner/base/status_macros.h"
#include "server/jobs/as_python_trains.h"

namespace memplan {

absl::StatusOr<Trace> TrialTraces::Read(const std::string& path) const {
  MEMPLAN_ASSIGN_OR_RETURN(Trace trace, tools_.read_trace(path));
  return AsSpecTrains(spec_, std::move(trace));
}

std::optional<Trace> TrialTraces::Of(const Trial& trial, int number) const {
  const int steps = spec_.steps + gpu::FurtherSteps(spec_.step);
  if (static_cast<int>(trial.steps.size()) < steps || trial.trace_events == 0 ||
      trial.trace_overflowed) {
    return std::nullopt;
  }
  auto trace = Read(tools_.trace_path(number));
  if (trace.ok()) return *std::move(trace);
  spdlog::warn("the trace of trial {} says nothing: {}", number,
               std::string(trace.status().message()));
  return std::nullopt;
}

}  // namespace memplan
