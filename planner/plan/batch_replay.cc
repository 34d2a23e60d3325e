#include "planner/plan/batch_replay.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/base/status_macros.h"
#include "planner/plan/live_replay.h"

namespace memplan {

absl::StatusOr<StreamOutcome> BatchReplay::Run(
    const Shape& shape, const InstantiateOptions& options, bool has_segments) {
  const absl::Status status = instantiator_.Run(shape, options, stream_);
  if (absl::IsOutOfRange(status)) {
    StreamOutcome outcome;
    outcome.failed_request = 0;  // no device holds what it would ask for
    return outcome;
  }
  MEMPLAN_RETURN_IF_ERROR(status);
  return has_segments ? replay_.Run(stream_) : ReplayLiveBytes(stream_, cap_);
}

}  // namespace memplan
