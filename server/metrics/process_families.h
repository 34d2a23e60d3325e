// The metric families of the processes on the GPUs. A process has a series of its
// own only if that was asked for, since pids come and go, and only the largest
// have; a process that ended has none at the next scrape.
#ifndef MEMPLAN_SERVER_METRICS_PROCESS_FAMILIES_H_
#define MEMPLAN_SERVER_METRICS_PROCESS_FAMILIES_H_

#include <prometheus/metric_family.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/devices/device_snapshot.h"

namespace memplan {

struct ProcessSeries {
  size_t most = 0;      // processes with series, all devices together
  int64_t own_pid = 0;  // the daemon's
};

// How many processes each device has, the bytes of the largest, how many have no
// series, and what the daemon itself holds, which has to be 0. A name's bytes
// beyond ASCII become `?`: names are any bytes, and the page is UTF-8.
void AppendProcesses(const DeviceSnapshot& snapshot,
                     const ProcessSeries& series,
                     std::vector<prometheus::MetricFamily>& page);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_METRICS_PROCESS_FAMILIES_H_
