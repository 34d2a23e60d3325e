#include "server/metrics/families.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "server/metrics/http_endpoint.h"
#include "tests/server/api/sample_metrics.h"

namespace memplan::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Page(const MetricsInput& input) {
  return MetricsPage(BuildFamilies(input));
}

TEST(BuildFamiliesTest, TellsWhatItIsAndSinceWhen) {
  const std::string page = Page(SampleMetrics());
  EXPECT_THAT(page, HasSubstr("memplan_build_info{version=\"0.1.0\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("memplan_start_time_seconds 1000\n"));
}

TEST(BuildFamiliesTest, DeviceMemoryAddsUp) {
  const std::string page = Page(SampleMetrics());
  EXPECT_THAT(page, HasSubstr("memplan_device_memory_total_bytes{device="
                              "\"GPU-aaaa\"} 1000\n"));
  EXPECT_THAT(page, HasSubstr("memplan_device_memory_driver_reserve_bytes{"
                              "device=\"GPU-aaaa\"} 100\n"));
  EXPECT_THAT(page, HasSubstr("memplan_device_memory_used_bytes{device="
                              "\"GPU-aaaa\"} 300\n"));
  EXPECT_THAT(page, HasSubstr("memplan_device_memory_free_bytes{device="
                              "\"GPU-aaaa\"} 600\n"));
}

TEST(BuildFamiliesTest, IdentityStandsOnTheInfoAlone) {
  EXPECT_THAT(Page(SampleMetrics()),
              HasSubstr("memplan_device_info{device=\"GPU-aaaa\",kind=\"cuda\","
                        "name=\"NVIDIA \\\"H200\\\"\",pci_bus_id=\"0:17\","
                        "driver_version=\"580\"} 1\n"));
}

TEST(BuildFamiliesTest, WhatIsNotKnownHasNoSeries) {
  MetricsInput input = SampleMetrics();
  DeviceSnapshot lost = *input.devices;
  lost.devices[0] = Device{};
  lost.devices[0].id = "GPU-lost";
  lost.devices[0].read_error = "GPU is lost";
  input.devices = std::make_shared<DeviceSnapshot>(lost);
  const std::string page = Page(input);
  EXPECT_THAT(page, HasSubstr("memplan_device_up{device=\"GPU-lost\"} 0\n"));
  EXPECT_THAT(page, Not(HasSubstr("total_bytes{device=\"GPU-lost\"}")));
  EXPECT_THAT(page, Not(HasSubstr("age_seconds{device=\"GPU-lost\"}")));
}

TEST(BuildFamiliesTest, TellsHowOldADevicesSnapshotIs) {
  EXPECT_THAT(Page(SampleMetrics()),
              HasSubstr("memplan_device_snapshot_age_seconds{device="
                        "\"GPU-aaaa\"} 2.5\n"));
}

TEST(BuildFamiliesTest, WhatWasReadBeforeADriverHungIsNotShown) {
  MetricsInput input = SampleMetrics();
  DeviceSnapshot late = *input.devices;
  late.devices[0].read_error = "the driver has not answered for 9 s";
  input.devices = std::make_shared<DeviceSnapshot>(late);
  const std::string page = Page(input);
  EXPECT_THAT(page, HasSubstr("memplan_device_up{device=\"GPU-aaaa\"} 0\n"));
  EXPECT_THAT(page, HasSubstr("memplan_device_info{device=\"GPU-aaaa\""));
  EXPECT_THAT(page, HasSubstr("memplan_device_snapshot_age_seconds{device="));
  EXPECT_THAT(page, Not(HasSubstr("memory_used_bytes{device=\"GPU-aaaa\"")));
  EXPECT_THAT(page, Not(HasSubstr("memory_free_bytes{device=\"GPU-aaaa\"")));
  EXPECT_THAT(page, Not(HasSubstr("memplan_device_processes{")));
}

TEST(BuildFamiliesTest, TellsWhenTheCertificateExpires) {
  const std::string page = Page(SampleMetrics());
  EXPECT_THAT(page, HasSubstr("memplan_tls_certificate_not_after_seconds "
                              "1800000000\n"));
  EXPECT_THAT(page, HasSubstr("memplan_tls_reload_failures_total 3\n"));
  MetricsInput without = SampleMetrics();
  without.tls.reset();
  EXPECT_THAT(Page(without),
              Not(HasSubstr("\nmemplan_tls_certificate_not_after_seconds ")));
}

TEST(BuildFamiliesTest, HasNoDevicesBeforeTheFirstReading) {
  MetricsInput input = SampleMetrics();
  input.devices = nullptr;
  EXPECT_THAT(Page(input), Not(HasSubstr("memplan_device_")));
}

TEST(BuildFamiliesTest, ShowsThePeaksOfASearchsSafeBatch) {
  const std::string page = Page(SampleMetrics());
  EXPECT_THAT(page, HasSubstr("memplan_model_peak_allocated_bytes{model="
                              "\"aaaaaaaaaaaa\"} 6000\n"));
  EXPECT_THAT(page, HasSubstr("memplan_model_peak_reserved_bytes{model="
                              "\"aaaaaaaaaaaa\"} 8000\n"));
  EXPECT_THAT(page, HasSubstr("memplan_model_fragmentation_ratio{model="
                              "\"aaaaaaaaaaaa\"} 0.25\n"));
  EXPECT_THAT(page, HasSubstr("memplan_model_batch_samples{model="
                              "\"aaaaaaaaaaaa\"} 192\n"));
}

TEST(BuildFamiliesTest, ShowsThePeaksOfAProfilesLargestBatchThatFits) {
  MetricsInput input = SampleMetrics();
  Probe profile;
  profile.spec.model_sha256 = std::string(64, 'b');
  profile.state = ProbeState::kSucceeded;
  profile.trials = {FittingTrial(8, 100), FittingTrial(16, 200),
                    FittingTrial(32, 400)};
  profile.trials[2].outcome = TrialOutcome::kOutOfMemory;
  input.probes.push_back(std::make_shared<Probe>(profile));
  const std::string page = Page(input);
  EXPECT_THAT(page, HasSubstr("memplan_model_peak_allocated_bytes{model="
                              "\"bbbbbbbbbbbb\"} 200\n"));
  EXPECT_THAT(page, HasSubstr("memplan_model_batch_samples{model="
                              "\"bbbbbbbbbbbb\"} 16\n"));
  EXPECT_THAT(page, Not(HasSubstr("peak_reserved_bytes{model=\"bbbbbbbbbbbb"
                                  "\"}")));
}

TEST(BuildFamiliesTest, TheNewestProbeOfAModelCounts) {
  MetricsInput input = SampleMetrics();
  Probe older = *input.probes[0];
  older.plan->peak_allocated->bytes = Bytes(1);
  input.probes.push_back(std::make_shared<Probe>(older));
  EXPECT_THAT(Page(input), HasSubstr("memplan_model_peak_allocated_bytes{model="
                                     "\"aaaaaaaaaaaa\"} 6000\n"));
}

TEST(BuildFamiliesTest, CapsTheModelsAndCountsTheRest) {
  MetricsInput input = SampleMetrics();
  for (int i = 0; i < 52; ++i) {
    Probe probe = *input.probes[0];
    probe.spec.model_sha256 = std::to_string(1000 + i) + std::string(60, '0');
    input.probes.push_back(std::make_shared<Probe>(probe));
  }
  const std::string page = Page(input);
  EXPECT_THAT(page, HasSubstr("memplan_models_untracked 3\n"));
  EXPECT_THAT(page, HasSubstr("batch_samples{model=\"104800000000\"}"));
  EXPECT_THAT(page, Not(HasSubstr("batch_samples{model=\"104900000000\"}")));
}

TEST(BuildFamiliesTest, ShowsTheLargestProcessesAndCountsTheRest) {
  MetricsInput input = SampleMetrics();
  std::string page = Page(input);
  EXPECT_THAT(page, HasSubstr("memplan_device_processes{device="
                              "\"GPU-aaaa\"} 2\n"));
  EXPECT_THAT(page, HasSubstr("memplan_process_memory_used_bytes{device="
                              "\"GPU-aaaa\",pid=\"4711\",name=\"python\"} "
                              "200\n"));
  EXPECT_THAT(page, Not(HasSubstr("pid=\"12\"")));
  EXPECT_THAT(page, HasSubstr("memplan_processes_untracked 1\n"));
  input.processes.most = 0;
  page = Page(input);
  EXPECT_THAT(page, Not(HasSubstr("memplan_process_memory_used_bytes{")));
  EXPECT_THAT(page, HasSubstr("memplan_processes_untracked 2\n"));
}

TEST(BuildFamiliesTest, TellsWhatTheDaemonItselfHolds) {
  MetricsInput input = SampleMetrics();
  EXPECT_THAT(Page(input), HasSubstr("memplan_daemon_device_memory_bytes{"
                                     "device=\"GPU-aaaa\"} 91\n"));
  input.processes.own_pid = 13;
  EXPECT_THAT(Page(input), HasSubstr("memplan_daemon_device_memory_bytes{"
                                     "device=\"GPU-aaaa\"} 0\n"));
}

TEST(BuildFamiliesTest, AProcessIsGoneWhenItHasEnded) {
  MetricsInput input = SampleMetrics();
  DeviceSnapshot later = *input.devices;
  later.devices[0].processes.clear();
  input.devices = std::make_shared<DeviceSnapshot>(later);
  EXPECT_THAT(Page(input), Not(HasSubstr("4711")));
}

TEST(BuildFamiliesTest, ANameOfAnyBytesDoesNotSpoilThePage) {
  MetricsInput input = SampleMetrics();
  DeviceSnapshot odd = *input.devices;
  odd.devices[0].processes[0].name = "py\xff\n\"x";
  input.devices = std::make_shared<DeviceSnapshot>(odd);
  EXPECT_THAT(Page(input), HasSubstr("name=\"py??\\\"x\"} 200\n"));
}

TEST(BuildFamiliesTest, CountsProbesTrialsAndWorkers) {
  const std::string page = Page(SampleMetrics());
  EXPECT_THAT(page, HasSubstr("memplan_probes{state=\"succeeded\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("memplan_probes{state=\"queued\"} 0\n"));
  EXPECT_THAT(page,
              HasSubstr("memplan_probes_ended_total{outcome=\"failed\"} 3\n"));
  EXPECT_THAT(page, HasSubstr("memplan_trials_total{purpose=\"search\","
                              "outcome=\"fits\"} 11\n"));
  EXPECT_THAT(page, HasSubstr("memplan_trials_total{purpose=\"verify\","
                              "outcome=\"worker_died\"} 16\n"));
  EXPECT_THAT(page, HasSubstr("memplan_trials_total{purpose=\"profile\","
                              "outcome=\"fits\"} 0\n"));
  EXPECT_THAT(page, HasSubstr("memplan_worker_starts_total 81\n"));
  EXPECT_THAT(page,
              HasSubstr("memplan_worker_deaths_total{cause=\"lingered\"} 7\n"));
}

TEST(BuildFamiliesTest, CountsHowSearchesFindTheirAnswers) {
  MetricsInput input = SampleMetrics();
  input.jobs.fall_backs = {{FallBackKind::kNotVerified, 3}};
  input.jobs.predictions_verified = 4;
  input.call_results = {.hits = 5, .misses = 6, .dropped = 7, .kept = 8};
  const std::string page = Page(input);
  EXPECT_THAT(page, HasSubstr("memplan_prediction_fall_backs_total{reason="
                              "\"not_verified\"} 3\n"));
  EXPECT_THAT(page, HasSubstr("memplan_predictions_total 4\n"));
  EXPECT_THAT(page,
              HasSubstr("memplan_call_results_total{outcome=\"hit\"} 5\n"));
  EXPECT_THAT(page,
              HasSubstr("memplan_call_results_total{outcome=\"miss\"} 6\n"));
  EXPECT_THAT(page, HasSubstr("memplan_call_results_kept 8\n"));
  EXPECT_THAT(page, HasSubstr("memplan_call_results_dropped_total 7\n"));
}

TEST(BuildFamiliesTest, CountsCallsAndHowLongTheyTook) {
  const std::string page = Page(SampleMetrics());
  const std::string labels =
      "service=\"memplan.v1.DeviceService\",method=\"GetDevice\"";
  EXPECT_THAT(page, HasSubstr("memplan_rpcs_total{" + labels +
                              ",code=\"NOT_FOUND\"} 4\n"));
  EXPECT_THAT(page, Not(HasSubstr(labels + ",code=\"OK\"")));
  EXPECT_THAT(page, HasSubstr("memplan_rpcs_in_progress{" + labels + "} 2\n"));
  EXPECT_THAT(page, HasSubstr("memplan_rpc_seconds_bucket{" + labels +
                              ",le=\"5e-05\"} 0\n"));
  EXPECT_THAT(page, HasSubstr("memplan_rpc_seconds_bucket{" + labels +
                              ",le=\"1\"} 3\n"));
  EXPECT_THAT(page, HasSubstr("memplan_rpc_seconds_bucket{" + labels +
                              ",le=\"+Inf\"} 4\n"));
  EXPECT_THAT(page, HasSubstr("memplan_rpc_seconds_sum{" + labels + "} 2.5\n"));
}

TEST(BuildFamiliesTest, TellsOfPartsAndOfTheEnd) {
  MetricsInput input = SampleMetrics();
  EXPECT_THAT(Page(input),
              HasSubstr("memplan_part_healthy{part=\"store\"} 0\n"));
  EXPECT_THAT(Page(input), HasSubstr("memplan_draining 0\n"));
  input.state = ServerState::kDraining;
  EXPECT_THAT(Page(input), HasSubstr("memplan_draining 1\n"));
}

}  // namespace
}  // namespace memplan::testing
