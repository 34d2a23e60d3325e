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

absl::Status DiskBusy() {
  return WithReason(
      absl::ResourceExhaustedError(
          "more calls wait for the store's disk than the daemon takes at once; "
          "try again"),
      "SERVER_BUSY");
}

}  // namespace memplan
