// The host's memory as this process may use it: the machine's, or that of its
// control group where a limit is lower, as in a container.
#ifndef MEMPLAN_SERVER_DEVICES_HOST_MEMORY_H_
#define MEMPLAN_SERVER_DEVICES_HOST_MEMORY_H_

#include <string>

#include "absl/status/statusor.h"
#include "planner/base/bytes.h"

namespace memplan {

struct HostMemory {
  Bytes total;
  Bytes available;  // without swapping; what can be reclaimed counts
};

// Reads /proc/meminfo, and the limits of this process's control group and of
// all groups above it (version 1 and 2), below `root`. Groups that cannot be
// read are passed over. Returns kUnavailable if /proc/meminfo does not say.
absl::StatusOr<HostMemory> ReadHostMemory(const std::string& root = "");

}  // namespace memplan

#endif  // MEMPLAN_SERVER_DEVICES_HOST_MEMORY_H_
