#include "server/metrics/families.h"

#include <prometheus/client_metric.h>
#include <prometheus/metric_type.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "server/metrics/admission_families.h"
#include "server/metrics/call_families.h"
#include "server/metrics/model_peaks.h"
#include "server/metrics/process_families.h"
#include "server/metrics/search_families.h"

namespace memplan {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

constexpr std::pair<TrialPurpose, const char*> kPurposes[] = {
    {TrialPurpose::kProfile, "profile"},     {TrialPurpose::kSearch, "search"},
    {TrialPurpose::kNeighbour, "neighbour"}, {TrialPurpose::kVerify, "verify"},
    {TrialPurpose::kCalibrate, "calibrate"}, {TrialPurpose::kRecord, "record"}};

constexpr std::pair<TrialOutcome, const char*> kOutcomes[] = {
    {TrialOutcome::kFits, "fits"},
    {TrialOutcome::kOutOfMemory, "out_of_memory"},
    {TrialOutcome::kShapeRefused, "shape_refused"},
    {TrialOutcome::kModelFailed, "model_failed"},
    {TrialOutcome::kTimedOut, "timed_out"},
    {TrialOutcome::kWorkerDied, "worker_died"},
    {TrialOutcome::kSandboxRefused, "sandbox_refused"}};

MetricFamily Family(std::string name, std::string help, MetricType type) {
  return {std::move(name), std::move(help), type, {}};
}

void Add(MetricFamily& family, Labels labels, double value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  if (family.type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  family.metric.push_back(std::move(metric));
}

void AddCount(MetricFamily& family, Labels labels, int64_t value) {
  Add(family, std::move(labels), static_cast<double>(value));
}

void AddBytes(MetricFamily& family, Labels labels, std::optional<Bytes> bytes) {
  if (bytes.has_value()) AddCount(family, std::move(labels), bytes->count());
}

MetricFamily Single(std::string name, std::string help, MetricType type,
                    double value, Labels labels = {}) {
  MetricFamily family = Family(std::move(name), std::move(help), type);
  Add(family, std::move(labels), value);
  return family;
}

double Seconds(Time::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// One family of a device's bytes.
struct DeviceBytes {
  const char* name;
  const char* help;
  std::optional<Bytes> Device::*bytes;
};

constexpr DeviceBytes kDeviceBytes[] = {
    {"memplan_device_memory_total_bytes", "All memory of the device.",
     &Device::total},
    {"memplan_device_memory_driver_reserve_bytes",
     "Memory that the driver keeps for itself.", &Device::driver_reserve},
    {"memplan_device_memory_used_bytes",
     "Memory held by all processes on the device.", &Device::used},
    {"memplan_device_memory_free_bytes", "Memory left on the device.",
     &Device::free},
    {"memplan_device_memory_unattributed_bytes",
     "Used memory less that of every known process.", &Device::unattributed},
};

// By the clock that verdicts go by: the wall clock may be stepped.
MetricFamily Ages(const AdmissionCounts& counts) {
  MetricFamily family = Family(
      "memplan_device_snapshot_age_seconds",
      "Time since the device was last read with success.", MetricType::Gauge);
  for (const DeviceAdmission& device : counts.devices) {
    if (!device.age) continue;
    Add(family, {{"device", device.device_id}},
        absl::ToDoubleSeconds(*device.age));
  }
  return family;
}

void AppendDevices(const DeviceSnapshot& snapshot,
                   std::vector<MetricFamily>& page) {
  for (const DeviceBytes& bytes : kDeviceBytes) {
    MetricFamily family = Family(bytes.name, bytes.help, MetricType::Gauge);
    for (const Device& device : snapshot.devices) {
      if (!device.read_error.empty()) continue;  // what was read once is over
      AddBytes(family, {{"device", device.id}}, device.*bytes.bytes);
    }
    page.push_back(std::move(family));
  }
  MetricFamily info =
      Family("memplan_device_info", "What the device is; always 1.",
             MetricType::Gauge);
  MetricFamily up = Family("memplan_device_up",
                           "1 if the last reading of the device succeeded, "
                           "else 0.",
                           MetricType::Gauge);
  for (const Device& device : snapshot.devices) {
    Add(info,
        {{"device", device.id},
         {"kind", device.is_cpu ? "cpu" : "cuda"},
         {"name", device.display_name},
         {"pci_bus_id", device.pci_bus_id},
         {"driver_version", device.driver_version}},
        1);
    Add(up, {{"device", device.id}}, device.read_error.empty() ? 1 : 0);
  }
  page.push_back(std::move(info));
  page.push_back(std::move(up));
}

void AppendModels(const TrackedModels& tracked,
                  std::vector<MetricFamily>& page) {
  MetricFamily allocated = Family(
      "memplan_model_peak_allocated_bytes",
      "Peak allocated memory of the model's latest probe, at its safe batch.",
      MetricType::Gauge);
  MetricFamily reserved = Family(
      "memplan_model_peak_reserved_bytes",
      "Peak reserved memory of the model's latest probe, at its safe batch.",
      MetricType::Gauge);
  MetricFamily ratio =
      Family("memplan_model_fragmentation_ratio",
             "Fragmentation over peak reserved memory, 0 to 1, as in the plan.",
             MetricType::Gauge);
  MetricFamily batch =
      Family("memplan_model_batch_samples",
             "The batch that the model's peaks belong to.", MetricType::Gauge);
  for (const ModelPeaks& model : tracked.models) {
    const Labels labels = {{"model", model.model}};
    AddBytes(allocated, labels, model.allocated);
    AddBytes(reserved, labels, model.reserved);
    if (model.fragmentation_ratio.has_value()) {
      Add(ratio, labels, *model.fragmentation_ratio);
    }
    AddCount(batch, labels, model.batch);
  }
  for (MetricFamily* family : {&allocated, &reserved, &ratio, &batch}) {
    page.push_back(std::move(*family));
  }
  page.push_back(Single(
      "memplan_models_untracked",
      "Models with peaks but without series, because too many have them.",
      MetricType::Gauge, static_cast<double>(tracked.untracked)));
}

void AppendProbes(const MetricsInput& input, std::vector<MetricFamily>& page) {
  std::map<ProbeState, int64_t> by_state;
  for (const auto& probe : input.probes) ++by_state[probe->state];
  MetricFamily probes =
      Family("memplan_probes", "Probes kept, by state.", MetricType::Gauge);
  constexpr std::pair<ProbeState, const char*> kStates[] = {
      {ProbeState::kQueued, "queued"},
      {ProbeState::kRunning, "running"},
      {ProbeState::kSucceeded, "succeeded"},
      {ProbeState::kFailed, "failed"},
      {ProbeState::kCancelled, "cancelled"}};
  for (const auto& [state, word] : kStates) {
    AddCount(probes, {{"state", word}}, by_state[state]);
  }
  page.push_back(std::move(probes));

  MetricFamily ended =
      Family("memplan_probes_ended_total",
             "Probes ended since start, by outcome.", MetricType::Counter);
  AddCount(ended, {{"outcome", "succeeded"}}, input.jobs.probes_succeeded);
  AddCount(ended, {{"outcome", "failed"}}, input.jobs.probes_failed);
  AddCount(ended, {{"outcome", "cancelled"}}, input.jobs.probes_cancelled);
  page.push_back(std::move(ended));
}

void AppendTrials(const JobCounts& jobs, std::vector<MetricFamily>& page) {
  MetricFamily trials = Family(
      "memplan_trials_total",
      "Trials ended since start, by purpose and outcome.", MetricType::Counter);
  for (const auto& [purpose, purpose_word] : kPurposes) {
    for (const auto& [outcome, outcome_word] : kOutcomes) {
      const auto found = jobs.trials.find({purpose, outcome});
      AddCount(trials, {{"purpose", purpose_word}, {"outcome", outcome_word}},
               found == jobs.trials.end() ? 0 : found->second);
    }
  }
  page.push_back(std::move(trials));
}

void AppendQueue(const JobCounts& jobs, std::vector<MetricFamily>& page) {
  MetricFamily waiting = Family("memplan_probes_waiting",
                                "Queued probes that nothing is before and that "
                                "wait for more than their place, by reason.",
                                MetricType::Gauge);
  constexpr std::pair<WaitingReason, const char*> kReasons[] = {
      {WaitingReason::kRoom, "room"},
      {WaitingReason::kIdle, "idle"},
      {WaitingReason::kDeviceNotRead, "device_not_read"},
      {WaitingReason::kDeviceLost, "device_lost"},
      {WaitingReason::kWorkers, "workers"}};
  for (const auto& [reason, word] : kReasons) {
    const auto found = jobs.waiting.find(reason);
    AddCount(waiting, {{"reason", word}},
             found == jobs.waiting.end() ? 0 : found->second);
  }
  page.push_back(std::move(waiting));
  page.push_back(Single("memplan_workers_resting",
                        "1 while no worker is started, because several in a "
                        "row could not be, else 0.",
                        MetricType::Gauge, jobs.workers_resting ? 1 : 0));
  const std::tuple<const char*, const char*, int64_t> counters[] = {
      {"memplan_worker_backoffs_total",
       "Pauses before a trial because the worker before it died.",
       jobs.worker_backoffs},
      {"memplan_probes_resumed_total",
       "Probes that went on from trials of before the daemon's start.",
       jobs.probes_resumed},
      {"memplan_probes_begun_anew_total",
       "Probes that dropped such trials: device or worker were others.",
       jobs.probes_begun_anew},
      {"memplan_probes_forgotten_total",
       "Ended probes that were forgotten by age or number.",
       jobs.probes_forgotten}};
  for (const auto& [name, help, value] : counters) {
    page.push_back(
        Single(name, help, MetricType::Counter, static_cast<double>(value)));
  }
}

void AppendWorkers(const WorkerCounts& workers,
                   std::vector<MetricFamily>& page) {
  page.push_back(Single("memplan_worker_starts_total",
                        "Worker processes started.", MetricType::Counter,
                        static_cast<double>(workers.started)));
  MetricFamily deaths = Family(
      "memplan_worker_deaths_total",
      "Worker processes that ended without exiting after a report, by cause.",
      MetricType::Counter);
  const std::pair<const char*, int64_t> causes[] = {
      {"died", workers.died},
      {"killed_by_signal", workers.killed_by_signal},
      {"timed_out", workers.timed_out},
      {"protocol_error", workers.protocol_error},
      {"cancelled", workers.cancelled},
      {"lingered", workers.lingered},
      {"start_failed", workers.start_failed}};
  for (const auto& [cause, count] : causes) {
    AddCount(deaths, {{"cause", cause}}, count);
  }
  page.push_back(std::move(deaths));
}

void AppendSandbox(const std::vector<SandboxLayer>& layers,
                   std::vector<MetricFamily>& page) {
  MetricFamily in_force =
      Family("memplan_worker_sandbox_layer_in_force",
             "1 if the layer of the workers' sandbox holds, else 0.",
             MetricType::Gauge);
  for (const SandboxLayer& layer : layers) {
    AddCount(in_force, {{"layer", layer.name}},
             layer.state == LayerState::kInForce ? 1 : 0);
  }
  page.push_back(std::move(in_force));
}

void AppendParts(const MetricsInput& input, std::vector<MetricFamily>& page) {
  page.push_back(Single("memplan_draining",
                        "1 if the daemon is about to end and refuses new work, "
                        "else 0.",
                        MetricType::Gauge,
                        input.state == ServerState::kDraining ? 1 : 0));
  MetricFamily healthy =
      Family("memplan_part_healthy",
             "1 if this part of the daemon works, else 0.", MetricType::Gauge);
  for (const PartStatus& part : input.parts) {
    Add(healthy, {{"part", part.name}}, part.healthy ? 1 : 0);
  }
  page.push_back(std::move(healthy));
}

void AppendTls(const std::optional<TlsStatus>& tls,
               std::vector<MetricFamily>& page) {
  MetricFamily expiry =
      Family("memplan_tls_certificate_not_after_seconds",
             "When the certificate that is served expires, in seconds since "
             "1970.",
             MetricType::Gauge);
  MetricFamily failures =
      Family("memplan_tls_reload_failures_total",
             "Times that the files of TLS were found to be of no use.",
             MetricType::Counter);
  if (tls.has_value()) {
    Add(expiry, {}, Seconds(tls->expiry.time_since_epoch()));
    AddCount(failures, {}, tls->failures);
  }
  page.push_back(std::move(expiry));
  page.push_back(std::move(failures));
}

void AppendStore(const StoreUse& store, const UploadsByOutcome& uploads,
                 std::vector<MetricFamily>& page) {
  MetricFamily bytes =
      Family("memplan_store_bytes",
             "Bytes that models and parts of models take.", MetricType::Gauge);
  AddCount(bytes, {{"kind", "models"}}, store.model_bytes);
  AddCount(bytes, {{"kind", "parts"}}, store.part_bytes);
  page.push_back(std::move(bytes));
  MetricFamily files = Family("memplan_store_files",
                              "Models, and parts of models, that are stored.",
                              MetricType::Gauge);
  AddCount(files, {{"kind", "models"}}, store.models);
  AddCount(files, {{"kind", "parts"}}, store.parts);
  page.push_back(std::move(files));
  page.push_back(Single("memplan_store_evictions_total",
                        "Models and parts removed to make room for uploads.",
                        MetricType::Counter,
                        static_cast<double>(store.evictions)));
  MetricFamily ended =
      Family("memplan_uploads_total", "Uploads ended since start, by outcome.",
             MetricType::Counter);
  constexpr std::array<const char*, kUploadOutcomes> kWords = {
      "stored", "already_stored", "broken_off", "refused"};
  for (size_t i = 0; i < kWords.size(); ++i) {
    AddCount(ended, {{"outcome", kWords[i]}}, uploads[i]);
  }
  page.push_back(std::move(ended));
}

}  // namespace

std::vector<MetricFamily> BuildFamilies(const MetricsInput& input) {
  std::vector<MetricFamily> page;
  page.push_back(Single("memplan_build_info", "The daemon's version; always 1.",
                        MetricType::Gauge, 1, {{"version", input.version}}));
  page.push_back(Single("memplan_start_time_seconds",
                        "When the daemon started, in seconds since 1970.",
                        MetricType::Gauge,
                        Seconds(input.start_time.time_since_epoch())));
  if (input.devices != nullptr) {
    AppendDevices(*input.devices, page);
    page.push_back(Ages(input.admission));
    AppendProcesses(*input.devices, input.processes, page);
  }
  AppendModels(LatestModelPeaks(input.probes, kMostModels), page);
  AppendProbes(input, page);
  AppendTrials(input.jobs, page);
  AppendQueue(input.jobs, page);
  AppendAdmission(input.admission, page);
  AppendWorkers(input.workers, page);
  AppendSandbox(input.sandbox, page);
  AppendParts(input, page);
  AppendTls(input.tls, page);
  AppendStore(input.store, input.uploads, page);
  for (MetricFamily& family : SearchFamilies(input.jobs, input.call_results)) {
    page.push_back(std::move(family));
  }
  for (MetricFamily& family : CallFamilies(input.calls)) {
    page.push_back(std::move(family));
  }
  return page;
}

}  // namespace memplan
