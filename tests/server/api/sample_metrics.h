// Metrics with a series of every family.
#ifndef MEMPLAN_TESTS_SERVER_API_SAMPLE_METRICS_H_
#define MEMPLAN_TESTS_SERVER_API_SAMPLE_METRICS_H_

#include <chrono>
#include <memory>
#include <string>

#include "server/metrics/families.h"

namespace memplan::testing {

inline Trial FittingTrial(int64_t batch, int64_t allocated) {
  Trial trial;
  trial.batch = batch;
  trial.outcome = TrialOutcome::kFits;
  trial.steps.resize(1);
  trial.steps[0].peaks.allocated = Bytes(allocated);
  return trial;
}

inline MetricsInput SampleMetrics() {
  DeviceSnapshot snapshot;
  Device& gpu = snapshot.devices.emplace_back();
  gpu.id = "GPU-aaaa";
  gpu.display_name = "NVIDIA \"H200\"";
  gpu.pci_bus_id = "0:17";
  gpu.driver_version = "580";
  gpu.total = Bytes(1000);
  gpu.driver_reserve = Bytes(100);
  gpu.used = Bytes(300);
  gpu.free = Bytes(600);
  gpu.unattributed = Bytes(9);
  gpu.processes = {{4711, "python", Bytes(200)}, {12, "Xorg", Bytes(91)}};

  Probe search;
  search.spec.model_sha256 = std::string(64, 'a');
  search.state = ProbeState::kSucceeded;
  search.plan.emplace();
  search.plan->answer.safe_batch = 192;
  search.plan->peak_allocated = {Bytes(6000), Provenance::kVerified, 1};
  search.plan->peak_reserved = {Bytes(8000), Provenance::kVerified, 1};
  search.plan->fragmentation_ratio = 0.25;

  MetricsInput input;
  input.start_time = Time(std::chrono::seconds(1000));
  input.version = "0.1.0";
  input.devices = std::make_shared<DeviceSnapshot>(snapshot);
  input.probes = {std::make_shared<Probe>(search)};
  input.sandbox = {{"landlock", LayerState::kInForce, "ABI 7"},
                   {"seccomp", LayerState::kMissing, "no filters"}};
  input.processes = {.most = 1, .own_pid = 12};
  input.jobs.trials = {
      {{TrialPurpose::kSearch, TrialOutcome::kFits}, 11},
      {{TrialPurpose::kVerify, TrialOutcome::kFits}, 12},
      {{TrialPurpose::kVerify, TrialOutcome::kWorkerDied}, 16}};
  input.jobs.probes_failed = 3;
  input.admission.devices = {{.device_id = "GPU-aaaa",
                              .sums = {.promised = Bytes(500),
                                       .outstanding = Bytes(450),
                                       .measured = Bytes(50),
                                       .waiting = 2,
                                       .adopted = 1},
                              .over_promise = 0,
                              .age = absl::Milliseconds(2500),
                              .unattributed = {}}};
  input.admission.verdicts[1][1] = 6;
  input.admission.false_admits = 8;
  input.admission.ratios.by_bucket[5] = 4;
  input.admission.ratios.sum = 3.7;
  input.workers.started = 81;
  input.workers.lingered = 7;
  MethodCalls& calls = input.calls.emplace_back();
  calls.method = {"memplan.v1.DeviceService", "GetDevice", true};
  calls.in_progress = 2;
  calls.ended_by_code[5] = 4;
  calls.by_bucket[1] = 3;
  calls.by_bucket.back() = 1;
  calls.seconds = 2.5;
  input.parts = {{"store", false, "full"}};
  input.tls = {Time(std::chrono::seconds(1'800'000'000)), 3, "expired"};
  return input;
}

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SERVER_API_SAMPLE_METRICS_H_
