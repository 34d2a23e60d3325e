#include "server/services/refusals.h"

#include <cstddef>

#include "server/base/reason.h"

namespace memplan {

absl::Status NoSuchProbe(const std::string& id) {
  constexpr size_t kShownBytes = 64;
  return WithReason(
      absl::NotFoundError("no probe is called \"" + id.substr(0, kShownBytes) +
                          "\"; ListProbes has those there are"),
      "PROBE_NOT_FOUND", "id");
}

absl::Status ShuttingDownWhileFollowed() {
  return WithReason(
      absl::UnavailableError(
          "the daemon is shutting down; the probe is kept, come back once a "
          "daemon is there again"),
      "SHUTTING_DOWN");
}

absl::Status DiskBusy() {
  return WithReason(
      absl::ResourceExhaustedError(
          "more calls wait for the store's disk than the daemon takes at once; "
          "try again"),
      "SERVER_BUSY");
}

absl::Status ReplayQueueBusy() {
  return WithReason(
      absl::ResourceExhaustedError(
          "more replays wait than the daemon takes at once; try again"),
      "SERVER_BUSY");
}

absl::Status ShuttingDown() {
  return WithReason(
      absl::UnavailableError(
          "the daemon is shutting down and takes no new work; try "
          "again once it is back"),
      "SHUTTING_DOWN");
}

}  // namespace memplan
