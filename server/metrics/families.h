// Every metric family of the daemon, built afresh from values at each scrape, so
// that no series outlives what it tells of. docs/metrics.md is checked against
// the page that comes of it. Pure.
#ifndef MEMPLAN_SERVER_METRICS_FAMILIES_H_
#define MEMPLAN_SERVER_METRICS_FAMILIES_H_

#include <prometheus/metric_family.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/admission/admission_counts.h"
#include "server/base/call_counts.h"
#include "server/base/server_status.h"
#include "server/base/tls_status.h"
#include "server/devices/device_monitor.h"
#include "server/jobs/probe_jobs.h"
#include "server/metrics/process_families.h"
#include "server/probe/probe.h"
#include "server/store/call_results.h"
#include "server/store/model_store.h"
#include "server/store/upload_counts.h"
#include "server/workers/process_trial_runner.h"

namespace memplan {

// Models with series of their own; the others are counted.
inline constexpr size_t kMostModels = 50;

// What a page is made of.
struct MetricsInput {
  Time start_time;                                // of the daemon
  std::string version;                            // of the daemon
  std::shared_ptr<const DeviceSnapshot> devices;  // null before the first
  ProcessSeries processes;
  std::vector<std::shared_ptr<const Probe>> probes;  // newest first
  JobCounts jobs;
  AdmissionCounts admission;
  WorkerCounts workers;
  std::vector<SandboxLayer> sandbox;  // empty until a worker tried it
  std::vector<MethodCalls> calls;
  std::vector<PartStatus> parts;
  std::optional<TlsStatus> tls;  // unset without TLS
  ServerState state = ServerState::kServing;
  StoreUse store;
  UploadsByOutcome uploads{};
  CallResultCounts call_results;
};

// Numbers that are not known have no series, as a device's total that its driver
// does not give.
std::vector<prometheus::MetricFamily> BuildFamilies(const MetricsInput& input);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_METRICS_FAMILIES_H_
