// A probe with every field filled in, for what keeps probes.
#ifndef MEMPLAN_TESTS_SERVER_CORE_SAMPLE_PROBE_H_
#define MEMPLAN_TESTS_SERVER_CORE_SAMPLE_PROBE_H_

#include <chrono>
#include <string>

#include "server/probe/probe.h"

namespace memplan::testing {

inline Trial SampleTrial() {
  Trial trial;
  trial.batch = 96;
  trial.purpose = TrialPurpose::kVerify;
  trial.outcome = TrialOutcome::kOutOfMemory;
  trial.message = "out of memory: „ein Wort“\n";
  trial.load_peaks = {Bytes(1), Bytes(512), Bytes(1024), MiB(2)};
  StepResult step;
  step.peaks = {Bytes(3), Bytes(1024), Bytes(2048), MiB(4)};
  step.seconds = 0.1;
  step.allocation_retries = 2;
  step.failed_requests = 3;
  StepResult evaluation;
  evaluation.kind = StepKind::kEvaluation;
  evaluation.batch = 64;
  trial.steps = {step, {}, evaluation};
  trial.load_allocation_retries = 4;
  trial.load_failed_requests = 5;
  trial.failed_while_loading = true;
  trial.traced_batch = 6;
  trial.context = MiB(700);
  trial.context_source = "nvml_process";
  trial.cap = GiB(16);
  trial.seconds = 1.0 / 3.0;
  trial.trace_events = int64_t{1} << 40;
  trial.trace_overflowed = true;
  trial.end_class = "fragmentation";
  trial.peak_request = {GiB(2), "step0/forward", "aten::conv2d",
                        "aten::cudnn_convolution"};
  trial.refused_request = {GiB(48), "step1/forward", "aten::linear", ""};
  trial.contents_dependence = {{"aten::nonzero"}, MiB(7)};
  return trial;
}

// Which request failed is not kept.
inline PredictedBatch SamplePredictedBatch(int64_t batch, bool runs) {
  PredictedBatch predicted;
  predicted.batch = batch;
  predicted.knowledge = CallKnowledge::kScaled;
  if (!runs) predicted.outcome.failed_request = 0;
  predicted.outcome.peaks.allocated.bytes = Bytes(batch * 1000);
  predicted.outcome.peaks.reserved.bytes = Bytes(batch * 2000);
  predicted.outcome.retries = 9;
  predicted.outcome.segments_freed = 8;
  predicted.outcome.steady_retries = 7;
  predicted.outcome.steady_segments_freed = 6;
  predicted.outcome.caught_failures = 5;
  return predicted;
}

inline PredictedAnswer SamplePrediction() {
  PredictedAnswer predicted;
  predicted.safe = SamplePredictedBatch(95, true);
  predicted.safe_interval = {{Bytes(94900), Bytes(95100)},
                             {Bytes(189000), Bytes(191000)}};
  predicted.comfortable = SamplePredictedBatch(90, true);
  predicted.failing = SamplePredictedBatch(96, false);
  predicted.running_above = {SamplePredictedBatch(97, true)};
  predicted.checked_from = 31;
  predicted.checked_to = 160;
  predicted.replays = 130;
  predicted.recorded_batches = {8, 32, 95};
  predicted.call_batches = {95, 96};
  predicted.irregular_calls = 106;
  predicted.distinct_calls = 23;
  return predicted;
}

inline Plan SamplePlan() {
  Plan plan;
  plan.answer = {SearchEnd::kFound, 95,       2, SearchLimit::kOtherFailure,
                 "what failed",     {98, 100}};
  plan.verified = true;
  plan.peak_requested = {Bytes(1), Provenance::kVerified, 2};
  plan.peak_allocated = {Bytes(3), Provenance::kMeasured, 4};
  plan.peak_active = {Bytes(5), Provenance::kEstimate, 0};
  plan.peak_reserved = {Bytes(7), Provenance::kVerified, 8};
  plan.steady_peak_allocated = {Bytes(2), Provenance::kMeasured, 4};
  plan.steady_peak_reserved = {Bytes(6), Provenance::kVerified, 8};
  plan.warm_up = WarmUp{.steps = 3,
                        .settled = true,
                        .first_seconds = 1.5,
                        .steady_seconds = 0.5,
                        .trial_number = 4};
  plan.context = {Bytes(9), Provenance::kVerified, 10};
  plan.fragmentation = {Bytes(11), Provenance::kVerified, 12};
  plan.fragmentation_ratio = 0.1;
  plan.peak_step = 3;
  plan.neighbours = {{94, TrialOutcome::kFits, 5},
                     {96, TrialOutcome::kTimedOut, 6}};
  plan.predicted = SamplePrediction();
  plan.fall_back_reason = "nothing held";
  plan.recording_trials = 3;
  plan.trial_count = 13;
  plan.out_of_memory_count = 4;
  plan.seconds = 12.7;
  return plan;
}

inline ProbeSpec SampleSpec() {
  ProbeSpec spec;
  spec.model_sha256 = std::string(64, 'a');
  spec.device_id = "GPU-1";
  spec.inputs = {
      {DType::kFloat32, {{"B", 1}, {"", 3}}, {FillKind::kNormal, 0, 0}},
      {DType::kInt64, {{"B", 2}, {"T", 1}}, {FillKind::kUniform, -0.1, 1e300}},
  };
  spec.dimensions = {{"T", 256}};
  spec.mode = gpu::Mode::kTrain;
  spec.optimizer = gpu::Optimizer::kAdamW;
  spec.run_as = gpu::RunAs::kEager;
  spec.steps = 7;
  spec.step.autocast = gpu::Autocast::kFloat16;
  spec.step.cudnn_benchmark = true;
  spec.step.cudnn_deterministic = true;
  spec.step.also_batches = {5, 7};
  spec.step.accumulation_steps = 3;
  spec.step.zero_grad = gpu::ZeroGrad::kZero;
  spec.step.evaluation_batch = 64;
  spec.step.loss_output = 1;
  spec.step.targets = {{DType::kInt64, {{"B", 1}}, {FillKind::kZeros, 0, 0}}};
  spec.loss_model_sha256 = std::string(64, 'b');
  spec.optimizer_implementation = gpu::OptimizerImplementation::kForeach;
  spec.limit = {.cap = std::nullopt, .budget = GiB(20)};
  spec.task = SearchOptions{16, 4096, 3};
  spec.trial_timeout = std::chrono::milliseconds(1234567);
  spec.time_limit = std::chrono::milliseconds(7654321);
  spec.max_trials = 9;
  spec.niceness = 10;
  spec.only_when_idle = true;
  spec.method = SearchMethod::kPredict;
  return spec;
}

inline Probe SampleProbe(const std::string& id) {
  const Time time{std::chrono::nanoseconds(1'795'000'000'123'456'789)};
  Probe probe;
  probe.id = id;
  probe.request_id = "request " + id;
  probe.spec = SampleSpec();
  probe.state = ProbeState::kSucceeded;
  probe.create_time = time;
  probe.start_time = time + std::chrono::nanoseconds(1);
  probe.end_time = time + std::chrono::hours(1);
  probe.trials = {SampleTrial(), Trial{}};
  probe.plan = SamplePlan();
  probe.error = ProbeError{absl::StatusCode::kFailedPrecondition,
                           "WORKER_UNUSABLE", "it is gone", "spec.mode"};
  probe.restart_count = 2;
  probe.worker_version = "2.7.1";
  probe.device_identity = "GPU-1, H200";
  probe.begun_anew_reason = "the worker is another";
  probe.version = int64_t{1} << 50;
  return probe;
}

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SERVER_CORE_SAMPLE_PROBE_H_
