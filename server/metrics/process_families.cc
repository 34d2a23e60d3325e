#include "server/metrics/process_families.h"

#include <prometheus/client_metric.h>
#include <prometheus/metric_type.h>

#include <algorithm>
#include <string>
#include <utility>

#include "planner/base/bytes.h"

namespace memplan {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

struct Holder {
  const Device* device = nullptr;
  const DeviceProcess* process = nullptr;
  Bytes used;
};

MetricFamily GaugeFamily(std::string name, std::string help) {
  return {std::move(name), std::move(help), MetricType::Gauge, {}};
}

void Add(MetricFamily& family, Labels labels, int64_t value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.gauge.value = static_cast<double>(value);
  family.metric.push_back(std::move(metric));
}

std::string Printable(std::string name) {
  constexpr char kLastOfAscii = '~';
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return c < ' ' || c > kLastOfAscii; }, '?');
  return name;
}

// Those whose bytes are known, the largest first.
std::vector<Holder> Holders(const DeviceSnapshot& snapshot) {
  std::vector<Holder> holders;
  for (const Device& device : snapshot.devices) {
    if (!device.read_error.empty()) continue;
    for (const DeviceProcess& process : device.processes) {
      if (process.used) holders.push_back({&device, &process, *process.used});
    }
  }
  std::stable_sort(holders.begin(), holders.end(),
                   [](const Holder& one, const Holder& other) {
                     return one.used > other.used;
                   });
  return holders;
}

MetricFamily OwnBytes(const DeviceSnapshot& snapshot, int64_t own_pid) {
  MetricFamily own = GaugeFamily(
      "memplan_daemon_device_memory_bytes",
      "Memory that the daemon itself holds on the device; has to be 0.");
  for (const Device& device : snapshot.devices) {
    if (device.is_cpu || !device.read_error.empty()) continue;
    int64_t held = 0;
    for (const DeviceProcess& process : device.processes) {
      if (process.pid == own_pid && process.used) {
        held += process.used->count();
      }
    }
    Add(own, {{"device", device.id}}, held);
  }
  return own;
}

}  // namespace

void AppendProcesses(const DeviceSnapshot& snapshot,
                     const ProcessSeries& series,
                     std::vector<MetricFamily>& page) {
  MetricFamily processes = GaugeFamily(
      "memplan_device_processes", "Processes that hold memory on the device.");
  for (const Device& device : snapshot.devices) {
    if (device.is_cpu || !device.read_error.empty()) continue;
    Add(processes, {{"device", device.id}},
        static_cast<int64_t>(device.processes.size()));
  }
  MetricFamily bytes = GaugeFamily(
      "memplan_process_memory_used_bytes",
      "Memory of the device that the process holds, as the driver says.");
  const std::vector<Holder> holders = Holders(snapshot);
  const size_t shown = std::min(holders.size(), series.most);
  for (size_t i = 0; i < shown; ++i) {
    const auto& [device, process, used] = holders[i];
    Add(bytes,
        {{"device", device->id},
         {"pid", std::to_string(process->pid)},
         {"name", Printable(process->name)}},
        used.count());
  }
  MetricFamily untracked =
      GaugeFamily("memplan_processes_untracked",
                  "Processes whose memory is known but that have no series.");
  Add(untracked, {}, static_cast<int64_t>(holders.size() - shown));
  for (MetricFamily* family : {&processes, &bytes, &untracked}) {
    page.push_back(std::move(*family));
  }
  page.push_back(OwnBytes(snapshot, series.own_pid));
}

}  // namespace memplan
