// Structs to protos: every field that a client can see.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <string>

#include "google/rpc/error_details.pb.h"
#include "server/convert/device_to_proto.h"
#include "server/convert/model_to_proto.h"
#include "server/convert/plan_to_proto.h"
#include "server/convert/probe_to_proto.h"
#include "server/convert/times.h"

namespace memplan {
namespace {

// Matches a message equal to the one that the text describes.
MATCHER_P(EqualsText, text, "equals the message\n" + std::string(text)) {
  std::remove_cvref_t<decltype(arg)> expected;
  if (!google::protobuf::TextFormat::ParseFromString(text, &expected)) {
    *result_listener << "but that text is no such message";
    return false;
  }
  google::protobuf::util::MessageDifferencer differencer;
  std::string differences;
  differencer.ReportDifferencesToString(&differences);
  const bool equal = differencer.Compare(expected, arg);
  *result_listener << differences;
  return equal;
}

Time AtMicros(int64_t micros) {
  return Time(std::chrono::microseconds(micros));
}

Trial TrainedTrial() {
  Trial trial;
  trial.batch = 16;
  trial.purpose = TrialPurpose::kVerify;
  trial.outcome = TrialOutcome::kFits;
  trial.load_peaks = {Bytes(10), Bytes(512), Bytes(512), Bytes(2048)};
  trial.load_allocation_retries = 1;
  trial.load_failed_requests = 2;
  StepResult step;
  step.peaks = {Bytes(900), Bytes(1024), Bytes(1536), Bytes(4096)};
  step.seconds = 0.25;
  step.allocation_retries = 3;
  step.failed_requests = 4;
  trial.steps = {step};
  trial.context = Bytes(77);
  trial.context_source = "nvml_process";
  trial.cap = Bytes(8192);
  trial.seconds = 1.5;
  trial.trace_events = 99;
  trial.trace_overflowed = true;
  trial.end_class = "launch-limit";
  trial.peak_request = {Bytes(300), "step0/backward", "aten::mm", "aten::mm"};
  trial.refused_request = {Bytes(400), "step0/forward", "aten::conv2d",
                           "aten::cudnn_convolution"};
  trial.contents_dependence = {{"aten::nonzero"}, Bytes(50)};
  return trial;
}

TEST(TrialToProtoTest, CarriesEverything) {
  EXPECT_THAT(ToProto(TrainedTrial(), 3), EqualsText(R"pb(
                number: 3
                batch: 16
                purpose: TRIAL_PURPOSE_VERIFY
                outcome: TRIAL_OUTCOME_FITS
                peaks {
                  requested_bytes: 900
                  allocated_bytes: 1024
                  active_bytes: 1536
                  reserved_bytes: 4096
                }
                steps {
                  index: 0
                  peaks {
                    requested_bytes: 900
                    allocated_bytes: 1024
                    active_bytes: 1536
                    reserved_bytes: 4096
                  }
                  duration { nanos: 250000000 }
                  allocation_retries: 3
                  failed_requests: 4
                  kind: STEP_KIND_STEP
                }
                load_peaks {
                  requested_bytes: 10
                  allocated_bytes: 512
                  active_bytes: 512
                  reserved_bytes: 2048
                }
                context_bytes: 77
                context_source: "nvml_process"
                cap_bytes: 8192
                allocation_retries: 4
                failed_requests: 6
                duration { seconds: 1 nanos: 500000000 }
                trace_events: 99
                trace_overflowed: true
                end_class: "launch-limit"
                peak_request {
                  bytes: 300
                  phase: "step0/backward"
                  operator_name: "aten::mm"
                  innermost_name: "aten::mm"
                }
                refused_request {
                  bytes: 400
                  phase: "step0/forward"
                  operator_name: "aten::conv2d"
                  innermost_name: "aten::cudnn_convolution"
                }
                contents_dependence {
                  operator_names: "aten::nonzero"
                  at_peak_bytes: 50
                }
                fragmentation_bytes: 3072
              )pb"));
}

TEST(TrialToProtoTest, LeavesWhatTheCpuDoesNotHaveUnset) {
  Trial trial;
  trial.batch = 1;
  trial.purpose = TrialPurpose::kProfile;
  trial.outcome = TrialOutcome::kOutOfMemory;
  trial.message = "too little";
  const v1::Trial proto = ToProto(trial, 1);
  EXPECT_EQ(proto.message(), "too little");
  EXPECT_FALSE(proto.peaks().has_reserved_bytes());
  EXPECT_FALSE(proto.has_context_bytes());
  EXPECT_FALSE(proto.has_cap_bytes());
  EXPECT_FALSE(proto.has_fragmentation_bytes());
}

Plan FoundPlan() {
  Plan plan;
  plan.answer.end = SearchEnd::kFound;
  plan.answer.safe_batch = 192;
  plan.answer.verifying_trials = 2;
  plan.answer.limit = SearchLimit::kOtherFailure;
  plan.answer.message = "timed out";
  plan.answer.unsafe_running_batches = {195, 197};
  plan.verified = true;
  plan.peak_requested = {Bytes(1), Provenance::kVerified, 5};
  plan.peak_allocated = {Bytes(2), Provenance::kMeasured, 4};
  plan.peak_active = {Bytes(3), Provenance::kVerified, 5};
  plan.peak_reserved = {Bytes(4), Provenance::kVerified, 5};
  plan.context = {Bytes(5), Provenance::kEstimate, 0};
  plan.fragmentation = {Bytes(2), Provenance::kVerified, 5};
  plan.fragmentation_ratio = 0.5;
  plan.peak_step = 2;
  plan.neighbours = {{191, TrialOutcome::kFits, 6},
                     {193, TrialOutcome::kOutOfMemory, 3}};
  plan.warm_up = WarmUp{.steps = 2,
                        .settled = true,
                        .first_seconds = 3,
                        .steady_seconds = 1,
                        .trial_number = 4};
  plan.fall_back_reason = "no two batches ran";
  plan.trial_count = 9;
  plan.out_of_memory_count = 4;
  plan.seconds = 2;
  return plan;
}

TEST(PlanToProtoTest, CarriesEverything) {
  EXPECT_THAT(
      ToProto(FoundPlan()), EqualsText(R"pb(
        verdict: PLAN_VERDICT_FOUND
        safe_batch: 192
        verified: true
        verifying_trials: 2
        limit: SEARCH_LIMIT_OTHER_FAILURE
        limit_message: "timed out"
        peak_requested {
          bytes: 1
          provenance: PROVENANCE_VERIFIED
          trial_number: 5
        }
        peak_allocated {
          bytes: 2
          provenance: PROVENANCE_MEASURED
          trial_number: 4
        }
        peak_active { bytes: 3 provenance: PROVENANCE_VERIFIED trial_number: 5 }
        peak_reserved {
          bytes: 4
          provenance: PROVENANCE_VERIFIED
          trial_number: 5
        }
        context { bytes: 5 provenance: PROVENANCE_ESTIMATE }
        fragmentation {
          bytes: 2
          provenance: PROVENANCE_VERIFIED
          trial_number: 5
        }
        fragmentation_ratio: 0.5
        neighbours {
          batch: 191
          outcome: TRIAL_OUTCOME_FITS
          trial_number: 6
          provenance: PROVENANCE_MEASURED
        }
        neighbours {
          batch: 193
          outcome: TRIAL_OUTCOME_OUT_OF_MEMORY
          trial_number: 3
          provenance: PROVENANCE_MEASURED
        }
        trial_count: 9
        out_of_memory_count: 4
        duration { seconds: 2 }
        unsafe_running_batches: 195
        unsafe_running_batches: 197
        peak_step: 2
        method: PLAN_METHOD_BISECTED
        fall_back_reason: "no two batches ran"
        warm_up {
          trial_number: 4
          steps: 2
          settled: true
          first_step_duration { seconds: 3 }
          steady_step_duration { seconds: 1 }
        }
      )pb"));
}

TEST(PlanToProtoTest, TellsWhatWasPredicted) {
  Plan plan;
  plan.neighbours = {{193, TrialOutcome::kOutOfMemory, 0}};
  plan.recording_trials = 2;
  PredictedAnswer& predicted = plan.predicted.emplace();
  predicted.safe.batch = 192;
  predicted.safe.knowledge = CallKnowledge::kRun;
  predicted.safe.outcome.steady_retries = 3;
  predicted.safe.outcome.steady_segments_freed = 4;
  predicted.safe.outcome.retries = 5;
  predicted.safe.outcome.segments_freed = 6;
  predicted.safe.outcome.caught_failures = 7;
  predicted.safe.outcome.peaks.allocated.bytes = Bytes(8);
  predicted.safe.outcome.peaks.reserved.bytes = Bytes(9);
  predicted.safe_interval = {{Bytes(7), Bytes(10)}, {Bytes(9), Bytes(13)}};
  predicted.failing.batch = 193;
  predicted.failing.knowledge = CallKnowledge::kAssumed;
  predicted.failing.outcome.failed_request = 11;
  predicted.checked_from = 128;
  predicted.checked_to = 256;
  predicted.recorded_batches = {8, 32};
  predicted.call_batches = {192};
  predicted.irregular_calls = 12;
  predicted.distinct_calls = 10;
  const v1::Plan proto = ToProto(plan);
  EXPECT_EQ(proto.method(), v1::PLAN_METHOD_PREDICTED);
  EXPECT_EQ(proto.recording_trials(), 2);
  EXPECT_EQ(proto.neighbours(0).provenance(), v1::PROVENANCE_ESTIMATE);
  EXPECT_THAT(proto.prediction(), EqualsText(R"pb(
                safe {
                  batch: 192
                  runs: true
                  knowledge: CALL_KNOWLEDGE_RUN
                  allocated_bytes: 8
                  reserved_bytes: 9
                  retries_per_step: 3
                  segments_freed_per_step: 4
                  retries: 5
                  segments_freed: 6
                  caught_failures: 7
                }
                comfortable {}
                failing { batch: 193 knowledge: CALL_KNOWLEDGE_ASSUMED }
                checked_from: 128
                checked_to: 256
                recorded_batches: 8
                recorded_batches: 32
                call_batches: 192
                irregular_calls: 12
                distinct_calls: 10
                safe_interval {
                  allocated { least_bytes: 7 most_bytes: 10 }
                  reserved { least_bytes: 9 most_bytes: 13 }
                }
              )pb"));
}

TEST(PlanToProtoTest, LeavesNumbersOfAnEmptyPlanUnset) {
  Plan plan;
  plan.answer.end = SearchEnd::kDoesNotFit;
  const v1::Plan proto = ToProto(plan);
  EXPECT_EQ(proto.verdict(), v1::PLAN_VERDICT_DOES_NOT_FIT);
  EXPECT_EQ(proto.limit(), v1::SEARCH_LIMIT_MEMORY);
  EXPECT_FALSE(proto.has_peak_allocated());
  EXPECT_FALSE(proto.has_context());
  EXPECT_FALSE(proto.has_fragmentation_ratio());
}

Probe RunningProbe() {
  Probe probe;
  probe.id = "p1";
  probe.spec.model_sha256 = "abc";
  probe.spec.device_id = "cpu";
  probe.spec.inputs = {InputSpec{.shape = {{"B", 1}}, .fill = {}}};
  probe.spec.limit.cap = Bytes(7);
  probe.spec.task = SearchOptions{};
  probe.state = ProbeState::kRunning;
  probe.create_time = AtMicros(1'500'000);
  probe.start_time = AtMicros(2'000'000);
  probe.trials = {TrainedTrial()};
  probe.restart_count = 1;
  probe.progress = ProbeProgress{.trial_number = 2,
                                 .batch = 32,
                                 .purpose = TrialPurpose::kNeighbour,
                                 .phase = "step",
                                 .steps_done = 1,
                                 .steps_total = 4,
                                 .largest_running_batch = 16,
                                 .smallest_failing_batch = 64};
  probe.version = 12;
  return probe;
}

TEST(ProbeToProtoTest, CarriesARunningProbe) {
  EXPECT_THAT(ToProtoWithoutTrials(RunningProbe()), EqualsText(R"pb(
                id: "p1"
                spec {
                  model_sha256: "abc"
                  device_id: "cpu"
                  inputs: "float32[B]{zeros}"
                  mode: MODE_INFER
                  run_as: RUN_AS_TORCHSCRIPT
                  steps: 4
                  cap_bytes: 7
                  search {
                    first_batch: 8
                    max_batch: 65536
                    repeat: 1
                    method: SEARCH_METHOD_AUTO
                  }
                  trial_timeout { seconds: 600 }
                }
                state: PROBE_STATE_RUNNING
                create_time { seconds: 1 nanos: 500000000 }
                start_time { seconds: 2 }
                restart_count: 1
                progress {
                  trial_number: 2
                  batch: 32
                  purpose: TRIAL_PURPOSE_NEIGHBOUR
                  phase: "step"
                  steps_done: 1
                  steps_total: 4
                  largest_running_batch: 16
                  smallest_failing_batch: 64
                }
                largest_running_batch: 16
                version: 12
              )pb"));
}

TEST(ProbeToProtoTest, NumbersTrialsFromOne) {
  Probe probe = RunningProbe();
  probe.trials.push_back(TrainedTrial());
  const v1::Probe proto = ToProto(probe);
  ASSERT_EQ(proto.trials_size(), 2);
  EXPECT_EQ(proto.trials(0).number(), 1);
  EXPECT_EQ(proto.trials(1).number(), 2);
}

TEST(ProbeToProtoTest, CarriesTheEndAndTheReasonOfAFailure) {
  Probe probe = RunningProbe();
  probe.state = ProbeState::kFailed;
  probe.end_time = AtMicros(3'000'000);
  probe.progress = std::nullopt;
  probe.error = ProbeError{.code = absl::StatusCode::kInvalidArgument,
                           .reason = "MODEL_REFUSED",
                           .message = "wrong number of inputs",
                           .field = "spec.inputs"};
  const v1::Probe proto = ToProto(probe);
  EXPECT_EQ(proto.state(), v1::PROBE_STATE_FAILED);
  EXPECT_EQ(proto.end_time().seconds(), 3);
  EXPECT_EQ(proto.error().code(), 3);
  EXPECT_EQ(proto.error().message(), "spec.inputs: wrong number of inputs");
  google::rpc::ErrorInfo info;
  ASSERT_TRUE(proto.error().details(0).UnpackTo(&info));
  EXPECT_EQ(info.reason(), "MODEL_REFUSED");
}

TEST(DeviceToProtoTest, CarriesEverythingTheDriverGave) {
  Device device;
  device.id = "GPU-aaaa";
  device.display_name = "NVIDIA H200";
  device.total = Bytes(1000);
  device.driver_reserve = Bytes(100);
  device.used = Bytes(300);
  device.free = Bytes(600);
  device.unattributed = Bytes(0);
  device.processes = {{.pid = 5, .name = "python3", .used = Bytes(300)},
                      {.pid = 6, .name = "", .used = std::nullopt}};
  device.pci_bus_id = "00000000:17:00.0";
  device.nvml_index = 0;
  device.driver_version = "580";
  device.snapshot_id = 17;
  device.sample_time = absl::FromUnixSeconds(4);
  EXPECT_THAT(ToProto(device), EqualsText(R"pb(
                id: "GPU-aaaa"
                kind: DEVICE_KIND_CUDA
                display_name: "NVIDIA H200"
                total_bytes: 1000
                driver_reserve_bytes: 100
                used_bytes: 300
                free_bytes: 600
                unattributed_bytes: 0
                processes { pid: 5 name: "python3" used_bytes: 300 }
                processes { pid: 6 }
                pci_bus_id: "00000000:17:00.0"
                nvml_index: 0
                driver_version: "580"
                sample_time { seconds: 4 }
                snapshot_id: 17
              )pb"));
}

TEST(DeviceToProtoTest, LeavesWhatTheDriverDidNotGiveUnset) {
  Device device;
  device.id = "GPU-aaaa";
  device.read_error = "GPU is lost";
  EXPECT_THAT(ToProto(device), EqualsText(R"pb(
                id: "GPU-aaaa"
                kind: DEVICE_KIND_CUDA
                read_error: "GPU is lost"
              )pb"));
}

TEST(ModelToProtoTest, CarriesEverything) {
  EXPECT_THAT(ToProto(Model{.sha256 = "abc",
                            .display_name = "resnet50.pt",
                            .size_bytes = 9,
                            .create_time = AtMicros(-500'000),
                            .state = ModelState::kUploading,
                            .committed_bytes = 4,
                            .last_use_time = AtMicros(2'000'000)}),
              EqualsText(R"pb(
                sha256: "abc"
                display_name: "resnet50.pt"
                size_bytes: 9
                create_time { seconds: -1 nanos: 500000000 }
                state: MODEL_STATE_UPLOADING
                committed_bytes: 4
                last_use_time { seconds: 2 }
              )pb"));
}

TEST(ToDurationTest, MakesNonsenseZero) {
  EXPECT_EQ(ToDuration(-1.0).seconds(), 0);
  EXPECT_EQ(ToDuration(std::nan("")).seconds(), 0);
  EXPECT_EQ(ToDuration(1e300).seconds(), 0);
  EXPECT_EQ(ToDuration(0.9999999).seconds(), 1);
  EXPECT_EQ(ToDuration(0.9999999).nanos(), 0);
}

}  // namespace
}  // namespace memplan
