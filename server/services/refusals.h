// Refusals that several calls share.
#ifndef MEMPLAN_SERVER_SERVICES_REFUSALS_H_
#define MEMPLAN_SERVER_SERVICES_REFUSALS_H_

#include <string>

#include "absl/status/status.h"

namespace memplan {

// kNotFound (PROBE_NOT_FOUND).
absl::Status NoSuchProbe(const std::string& id);

// kUnavailable (SHUTTING_DOWN): whoever follows a probe may come back.
absl::Status ShuttingDownWhileFollowed();

// kResourceExhausted (SERVER_BUSY): the disk's queue took no more work.
absl::Status DiskBusy();

// kResourceExhausted (SERVER_BUSY): the queue of replays took no more work.
absl::Status ReplayQueueBusy();

// kUnavailable (SHUTTING_DOWN): the daemon is about to end.
absl::Status ShuttingDown();

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_REFUSALS_H_
