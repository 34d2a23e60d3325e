// Whether what the daemon stands on works now: its devices, its store, its
// workers, its certificate. What health checks and GetServerStatus say of each.
#ifndef MEMPLAN_SERVER_PROGRAM_PART_HEALTH_H_
#define MEMPLAN_SERVER_PROGRAM_PART_HEALTH_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/base/server_status.h"
#include "server/base/tls_status.h"
#include "server/devices/device_monitor.h"
#include "server/store/database.h"

namespace memplan {

// A reading older than this is no longer the state of a device.
inline constexpr absl::Duration kStaleReading = absl::Seconds(10);
// With less room than this a store counts as full.
inline constexpr int64_t kLeastStoreBytes = int64_t{64} << 20;

// How long ago each device was read with success, by a clock that nobody sets;
// without those that never were.
using DeviceAges = std::map<std::string, absl::Duration>;

// `devices`: healthy if each was read lately, none failed and at least
// `expected_gpus` GPUs are there. `snapshot` is null before the first.
PartStatus DevicesHealth(const DeviceSnapshot* snapshot, const DeviceAges& ages,
                         int64_t expected_gpus);

// `store`: healthy if its folder can be written, its disk has room and its
// database answers [disk].
PartStatus StoreHealth(const std::string& folder, Database& database);

// `workers`: healthy if one could be started …
PartStatus WorkersHealth(const absl::Status& usable);
// … or none is wanted.
PartStatus NoWorkersHealth();

// `tls`: healthy if the files of the certificate could be served.
PartStatus TlsHealth(const TlsStatus& tls);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_PROGRAM_PART_HEALTH_H_
