// Probes on disk: the spec, the state, the trials and the answer of each.
#ifndef MEMPLAN_SERVER_STORE_PROBE_STORE_H_
#define MEMPLAN_SERVER_STORE_PROBE_STORE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/probe/probe.h"

namespace memplan {

// Thread-safe. Every method waits for the disk: not for handlers.
class ProbeStore {
 public:
  virtual ~ProbeStore() = default;

  // All probes in their order of creation. A record that cannot be read is left
  // where it is and logged, not an error.
  virtual absl::StatusOr<std::vector<Probe>> LoadAll() = 0;
  // Inserts or replaces the probe as it is; durable when it returns. `progress`
  // and `queue_position` are not kept. kAlreadyExists if another probe has its
  // request_id, kResourceExhausted (STORE_FULL) if the disk is full.
  virtual absl::Status Save(const Probe& probe) = 0;
  // Removes the probe and its traces; OK if there is none.
  virtual absl::Status Delete(std::string_view id) = 0;
  // Where the trace of trial `number` (from 1) of probe `id` is kept; the folder
  // exists when it returns.
  virtual absl::StatusOr<std::string> TracePath(std::string_view id,
                                                int number) = 0;
};

class Database;
class StoreFolder;

// The probes in `folder`, which with `database` must outlive the store. Traces
// of probes that are gone are removed. Errors: the disk's and the database's.
absl::StatusOr<std::unique_ptr<ProbeStore>> OpenProbeStore(
    const StoreFolder& folder, Database& database);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_PROBE_STORE_H_
