// Which earlier probe has recorded the program of another already: the same
// model, run the same way on the same device. Its traces are kept as long as it
// is, and count as long as the worker's libtorch is the same. Pure.
#ifndef MEMPLAN_SERVER_JOBS_EARLIER_RECORDINGS_H_
#define MEMPLAN_SERVER_JOBS_EARLIER_RECORDINGS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "planner/base/bytes.h"
#include "server/probe/probe.h"

namespace memplan {

struct EarlierRecording {
  int64_t batch = 0;
  std::string trace_path;
  std::string worker_version;
  std::optional<Bytes> context;
};

// Whether runs of one are runs of the other: all that a worker is told but batch
// and limit.
bool IsSameProgram(const ProbeSpec& a, const ProbeSpec& b);

// Those of the newest of `probes` (newest first) that recorded two batches of
// `probe`'s program, none of them short of memory; `path` tells where the trace
// of a probe's trial lies.
std::vector<EarlierRecording> RecordingsFor(
    const Probe& probe, const std::vector<std::shared_ptr<const Probe>>& probes,
    absl::FunctionRef<std::string(const Probe&, int number)> path);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_EARLIER_RECORDINGS_H_
