// One message of each kind with every member set to a value of its own.
#ifndef MEMPLAN_TESTS_CUDA_MESSAGES_SAMPLE_MESSAGES_H_
#define MEMPLAN_TESTS_CUDA_MESSAGES_SAMPLE_MESSAGES_H_

#include <cstdint>
#include <vector>

#include "cuda/worker/messages/messages.h"
#include "planner/base/bytes.h"
#include "planner/plan/input_spec.h"
#include "planner/plan/trial.h"

namespace memplan::gpu {

inline Peaks SamplePeaks(int64_t base) {
  Peaks peaks;
  peaks.requested = Bytes(base + 1);
  peaks.allocated = Bytes(base + 2);
  peaks.active = Bytes(base + 3);
  peaks.reserved = Bytes(base + 4);
  return peaks;
}

inline Hello SampleHello() {
  return {.protocol_version = 1, .pid = 4711, .torch_version = "2.11.0"};
}

inline Sandboxed SampleSandboxed() {
  return {{{"landlock", LayerState::kInForce, "ABI 7"},
           {"seccomp", LayerState::kMissing, "the kernel has no filters"},
           {"resource_limits", LayerState::kOff, ""}}};
}

inline Progress SampleProgress() { return {.phase = "step", .steps_done = 2}; }

inline Settled SampleSettled() {
  Settled settled;
  settled.reserved = Bytes(100);
  settled.device_free = Bytes(200);
  settled.device_total = Bytes(300);
  return settled;
}

inline Report SampleReport() {
  StepResult step;
  step.peaks = SamplePeaks(20);
  step.seconds = 0.25;
  step.allocation_retries = 3;
  step.failed_requests = 4;
  StepResult evaluation;
  evaluation.kind = StepKind::kEvaluation;
  evaluation.batch = 64;
  Report report;
  report.end = EndKind::kOutOfMemory;
  report.end_class = EndClass::kFragmentation;
  report.field = "inputs";
  report.message = "tried to allocate 20 MiB — but\nfailed \"there\"";
  report.failed_while_loading = true;
  report.load_peaks = SamplePeaks(10);
  report.load_allocation_retries = 1;
  report.load_failed_requests = 2;
  report.steps = {step, StepResult{}, evaluation};
  report.traced_batch = 8;
  report.cap = GiB(16);
  report.memory_speed =
      MemorySpeed{.slowest = 0, .peak = 4.8e12, .absence = "no kernels"};
  return report;
}

inline StepOptions SampleStepOptions() {
  StepOptions options;
  options.autocast = Autocast::kFloat16;
  options.cudnn_benchmark = true;
  options.cudnn_deterministic = true;
  options.also_batches = {5, 7};
  options.accumulation_steps = 3;
  options.zero_grad = ZeroGrad::kZero;
  options.evaluation_batch = 64;
  options.loss_output = 1;
  options.targets = {*ParseInputSpec("int64[B]{0..10}")};
  return options;
}

inline TrialRequest SampleRequest() {
  TrialRequest request;
  request.model_path = "/var/lib/memplan/models/ab\"cd";
  request.device = DeviceKind::kCuda;
  request.inputs = {*ParseInputSpec("int64[B,T]{0..30000}"),
                    *ParseInputSpec("float32[2*B,3]")};
  request.dimensions = {{"T", 256}, {"S", int64_t{1} << 31}};
  request.batch = 37;
  request.mode = Mode::kTrain;
  request.optimizer = Optimizer::kSgdMomentum;
  request.run_as = RunAs::kEager;
  request.steps = 100;
  request.options = SampleStepOptions();
  request.loss_path = "/var/lib/memplan/models/ef";
  request.cap = GiB(2);
  request.sandbox = SandboxOrder{.required = true, .scratch_path = "/s/1"};
  request.stay = true;
  return request;
}

inline Prepared SamplePrepared() {
  return {.device_name = "NVIDIA H200",
          .driver_version = "570.86.15",
          .cudnn_version = "9.10.2"};
}

inline RunCalls SampleRunCalls() {
  DistinctCall call;
  call.operator_name = "aten::convolution";
  call.is_convolution = true;
  call.has_signature = true;
  call.overload = "overrideable";
  call.arguments = {{ArgumentKind::kTensor, false, "float32", {8, 3, 3, 1}},
                    {ArgumentKind::kNone, false, "", {}},
                    {ArgumentKind::kIntegers, false, "", {1, 2}},
                    {ArgumentKind::kBoolean, false, "", {1}}};
  DistinctCall unknown;
  unknown.operator_name = "fused_add";
  return {.calls = {call, unknown}, .cap = GiB(2)};
}

// A convolution that takes 512 bytes of scratch, or does without.
inline CallsReport SampleCallsReport() {
  const CallPlan first = {{0, 4096}, {1, 512}, {1, 0}};
  const CallPlan second = {{0, 4096}};
  return {{{.plans = {first, second}, .fault = ""},
           {.plans = {}, .fault = "no operator has this name"}}};
}

inline std::vector<WorkerMessage> SampleWorkerMessages() {
  return {SampleHello(),
          SampleSandboxed(),
          SamplePrepared(),
          SampleProgress(),
          SampleSettled(),
          SampleReport(),
          SampleCallsReport(),
          Hello{.pid = 1, .torch_version = ""},
          Prepared{},
          Settled{},
          Report{},
          CallsReport{}};
}

inline std::vector<DaemonMessage> SampleDaemonMessages() {
  return {SampleRequest(),
          Proceed{},
          Prepare{SampleRequest()},
          Prepare{.program = SampleRequest(),
                  .preparation = Preparation::kRehearsedProgram},
          Prepare{.program = SampleRequest(),
                  .preparation = Preparation::kLibraries},
          SampleRunCalls(),
          End{},
          TrialRequest{},
          Prepare{},
          RunCalls{}};
}

}  // namespace memplan::gpu

#endif  // MEMPLAN_TESTS_CUDA_MESSAGES_SAMPLE_MESSAGES_H_
