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
  Report report;
  report.end = EndKind::kOutOfMemory;
  report.field = "inputs";
  report.message = "tried to allocate 20 MiB — but\nfailed \"there\"";
  report.failed_while_loading = true;
  report.load_peaks = SamplePeaks(10);
  report.load_allocation_retries = 1;
  report.load_failed_requests = 2;
  report.steps = {step, StepResult{}};
  report.traced_batch = 8;
  report.cap = GiB(16);
  return report;
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
  request.cap = GiB(2);
  request.sandbox = SandboxOrder{.required = true, .scratch_path = "/s/1"};
  return request;
}

inline std::vector<WorkerMessage> SampleWorkerMessages() {
  return {SampleHello(),    SampleSandboxed(),
          SampleProgress(), SampleSettled(),
          SampleReport(),   Hello{.pid = 1, .torch_version = ""},
          Settled{},        Report{}};
}

inline std::vector<DaemonMessage> SampleDaemonMessages() {
  return {SampleRequest(), Proceed{}, TrialRequest{}};
}

}  // namespace memplan::gpu

#endif  // MEMPLAN_TESTS_CUDA_MESSAGES_SAMPLE_MESSAGES_H_
