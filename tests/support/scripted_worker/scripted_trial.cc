#include "tests/support/scripted_worker/scripted_trial.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "planner/base/bytes.h"
#include "planner/plan/trial.h"
#include "tests/support/scripted_worker/channel.h"
#include "tests/support/scripted_worker/recorded_run.h"
#include "tests/support/scripted_worker/scripted_failure.h"
#include "tests/support/scripted_worker/trace_file.h"

namespace memplan::testing {
namespace {

constexpr int64_t kDeviceBytes = int64_t{160} << 30;  // of the pretended GPU

int64_t RoundedUp(int64_t bytes, int64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// The peaks of a span that asks for `bytes`, rounded as the allocator does.
Peaks PeaksOf(int64_t bytes, gpu::DeviceKind device,
              int64_t stranded_bytes = 0) {
  Peaks peaks;
  peaks.requested = Bytes(bytes);
  peaks.allocated = Bytes(RoundedUp(bytes, 512));
  peaks.active = peaks.allocated;
  if (device == gpu::DeviceKind::kCuda) {
    peaks.reserved = Bytes(RoundedUp(bytes + stranded_bytes, 2 << 20));
  }
  return peaks;
}

[[noreturn]] void Hang() {
  while (true) pause();
}

// One run.
class ScriptedTrial {
 public:
  ScriptedTrial(const Script& script, const gpu::TrialRequest& request)
      : script_(script),
        request_(request),
        situation_(SituationFor(script, std::to_string(request.batch))),
        recorded_(script.recorded.empty()
                      ? std::nullopt
                      : RecordedRun::Read(script.recorded, request.batch)) {}

  void Run() {
    // `hangs on` outlives even the daemon, until it is killed.
    if (situation_ != "hangs on") EndWithTheDaemon();
    LogStart(script_, std::to_string(request_.batch));
    Send(gpu::Progress{.phase = "load", .steps_done = 0});
    if (const auto told = ReportOfBefore()) {
      TellAgain(*told);
      return;
    }
    gpu::Report report = MakeReport();
    Load(report);
    if (report.end == gpu::EndKind::kRan) RunSteps(report);
    MisbehaveBeforeReport();
    WriteTraceAsScripted();
    Send(report);
    if (situation_ == "lingers") Hang();
  }

 private:
  // What a real worker reported of this batch.
  std::optional<gpu::Report> ReportOfBefore() const {
    if (script_.recorded.empty()) return std::nullopt;
    return RecordedReport(script_.recorded, request_.batch);
  }

  void TellAgain(const gpu::Report& report) const {
    Send(gpu::Progress{.phase = "step", .steps_done = 0});
    MisbehaveInStep();
    if (report.end == gpu::EndKind::kRan) Settle();
    WriteTraceAsScripted();
    Send(report);
  }

  bool OnGpu() const { return request_.device == gpu::DeviceKind::kCuda; }

  bool ExceedsCap(int64_t bytes) const {
    return request_.cap.has_value() && Bytes(bytes) > *request_.cap;
  }

  // Of a step, from 0.
  int64_t StepBytes(int step) const {
    const auto odd = script_.odd_steps.find(std::to_string(step + 1));
    const int64_t besides = odd == script_.odd_steps.end() ? 0 : odd->second;
    const auto peak = script_.peak_bytes.find(std::to_string(request_.batch));
    if (peak != script_.peak_bytes.end()) return peak->second;
    return script_.base_bytes +
           (script_.bytes_per_sample + besides) * request_.batch;
  }

  std::vector<int64_t> BytesOfSteps(int steps) const {
    std::vector<int64_t> bytes;
    for (int i = 0; i < steps; ++i) bytes.push_back(StepBytes(i));
    return bytes;
  }

  int64_t ScratchBytes() const {
    return ScratchOfBatch(script_, request_.batch);
  }

  // What the driver is asked for if the scratch has a segment of its own.
  int64_t PeakBytes(int step) const {
    return ScratchBytes() == 0
               ? StepBytes(step)
               : RoundedUp(StepBytes(step), 2 << 20) + ScratchBytes();
  }

  // Of the steps up to this one.
  int64_t MostBytes(int last_step) const {
    int64_t most = 0;
    for (int i = 0; i <= last_step; ++i) most = std::max(most, PeakBytes(i));
    return most;
  }

  bool RunsOutOfMemory() const {
    return request_.batch > script_.limit_batch ||
           script_.oom_batches.count(request_.batch) > 0 || IsOutAtTheGate() ||
           ExceedsCap(MostBytes(gpu::StepCount(request_) - 1) +
                      (OnGpu() ? script_.stranded_bytes : 0));
  }

  bool IsOutAtTheGate() const { return situation_ == "runs out at the gate"; }

  gpu::Report MakeReport() const {
    gpu::Report report;
    report.load_peaks = recorded_
                            ? recorded_->load_peaks()
                            : PeaksOf(script_.base_bytes, request_.device);
    report.traced_batch = script_.traced_batch;
    report.cap = request_.cap;
    if (request_.device == gpu::DeviceKind::kCuda)
      report.memory_speed = Speed();
    return report;
  }

  // Of a card that does 4 of 4.8 TB/s, in bytes a second.
  gpu::MemorySpeed Speed() const {
    gpu::MemorySpeed speed{.slowest = 4e12, .peak = 4.8e12, .absence = ""};
    if (request_.batch > script_.spills_above) speed.slowest = 2.5e10;
    return speed;
  }

  void Fail(gpu::Report& report, gpu::EndKind end, const char* message) const {
    report.end = end;
    report.message = message;
  }

  void Load(gpu::Report& report) const {
    if (FailLoad(script_, situation_, report)) return;
    if (situation_ == "refuses inputs") {
      Fail(report, gpu::EndKind::kBadRequest,
           "forward() expected at most 2 argument(s) but received 3");
      report.field = "inputs";
      report.failed_while_loading = true;
    } else if (ExceedsCap(script_.base_bytes)) {
      Fail(report, gpu::EndKind::kOutOfMemory, "out of memory while loading");
      report.failed_while_loading = true;
      report.load_failed_requests = 1;
    }
  }

  void RunSteps(gpu::Report& report) const {
    Send(gpu::Progress{.phase = "step", .steps_done = 0});
    MisbehaveInStep();
    if (situation_ == "model fails") {
      Fail(report, gpu::EndKind::kModelFailed,
           "expected scalar type Long but found Float");
    } else if (situation_ == "shape refused") {
      Fail(report, gpu::EndKind::kShapeRefused,
           "shape '[2, 512]' is invalid for input of size 4096");
    } else if (RunsOutOfMemory()) {
      Fail(report, gpu::EndKind::kOutOfMemory, "out of memory in step 1");
      report.steps.push_back(OneStep(0));
      report.steps.back().failed_requests = 1;
    } else if (FailStep(script_, situation_, Bytes(StepBytes(0)), report)) {
      report.steps.push_back(OneStep(0));
      if (report.end == gpu::EndKind::kOutOfMemory) {
        ++report.steps.back().failed_requests;
      }
    }
    if (report.end != gpu::EndKind::kRan) return;
    for (int i = 0; i < gpu::StepCount(request_); ++i) {
      std::this_thread::sleep_for(
          std::chrono::duration<double>(script_.step_seconds));
      report.steps.push_back(OneStep(i));
      if (recorded_ && i < request_.steps)
        report.steps.back().peaks = recorded_->step_peaks(i);
      Send(gpu::Progress{.phase = "step", .steps_done = i + 1});
    }
    Settle();
  }

  // What a step before has reserved stays so.
  Peaks StepPeaks(int step) const {
    Peaks peaks = PeaksOf(PeakBytes(step), request_.device);
    peaks.reserved =
        PeaksOf(MostBytes(step), request_.device, script_.stranded_bytes)
            .reserved;
    return peaks;
  }

  StepResult OneStep(int index) const {
    StepResult step;
    step.peaks = StepPeaks(index);
    step.failed_requests = script_.caught_failures;
    step.allocation_retries = script_.caught_failures;
    step.seconds = script_.step_seconds;
    return step;
  }

  void Settle() const {
    gpu::Settled settled;
    const Peaks peaks = StepPeaks(gpu::StepCount(request_) - 1);
    settled.reserved = peaks.reserved.value_or(peaks.allocated);
    if (OnGpu()) {
      settled.device_total = Bytes(kDeviceBytes);
      settled.device_free =
          Bytes(kDeviceBytes) - settled.reserved - Bytes(script_.context_bytes);
    }
    Send(settled);
    WaitForProceed();
  }

  void MisbehaveInStep() const {
    Misbehave(situation_);
    if (situation_ == "waits at the gate" || IsOutAtTheGate()) WaitAtTheGate();
  }

  // Opening a fifo waits until somebody opens its other end.
  void WaitAtTheGate() const {
    const int gate = open(script_.gate.c_str(), O_RDONLY | O_CLOEXEC);
    if (gate < 0) {
      std::perror(script_.gate.c_str());
      std::abort();
    }
    close(gate);
  }

  void MisbehaveBeforeReport() const {
    if (situation_ == "half a frame") {
      SendHalfAFrame();
      _exit(0);
    }
    if (situation_ == "frame too long") {
      SendFrameTooLong();
      Hang();
    }
    if (situation_ == "nonsense") {
      SendText("{\"type\":\"report\",\"end\":42}");
      Hang();
    }
    if (situation_ == "hello again") {
      SendHello();
      Hang();
    }
  }

  void WriteTraceAsScripted() const {
    if (situation_ == "wild trace header") {
      WriteWildTraceHeader(gpu::kTraceDescriptor);
    } else if (situation_ == "overflows trace") {
      WriteOverflowingTrace(gpu::kTraceDescriptor);
    } else if (situation_ == "resizes trace") {
      // Allowed only if the daemon forgot the seals: then die, to be noticed.
      if (ResizeTrace(gpu::kTraceDescriptor) > 0) std::abort();
      WriteTrace(gpu::kTraceDescriptor, {});
    } else if (recorded_) {
      recorded_->WriteTrace(gpu::kTraceDescriptor);
    } else if (script_.recorded.empty()) {
      WriteTrace(gpu::kTraceDescriptor,
                 {.base_bytes = script_.base_bytes,
                  .step_bytes = BytesOfSteps(request_.steps),
                  .scratch_bytes = ScratchBytes(),
                  .batch = request_.batch});
    } else {
      WriteNoTrace(gpu::kTraceDescriptor);
    }
  }

  const Script& script_;
  const gpu::TrialRequest& request_;
  const std::string situation_;
  // What a real worker recorded, if it did so at this batch.
  const std::optional<RecordedRun> recorded_;
};

}  // namespace

void Misbehave(const std::string& situation) {
  constexpr std::string_view kDies = "dies by signal ";
  if (situation.starts_with(kDies)) {
    const int number = std::stoi(situation.substr(kDies.size()));
    (void)signal(number, SIG_DFL);  // a sanitizer may have taken it
    kill(getpid(), number);
    Hang();
  }
  if (situation == "hangs" || situation == "hangs on") Hang();
  if (situation == "exits") _exit(kExitAsScripted);
}

int64_t ScratchOfBatch(const Script& script, int64_t batch) {
  return script.scratch_per_sample * std::min(batch, script.scratch_until);
}

void RunTrial(const Script& script, const gpu::TrialRequest& request) {
  ScriptedTrial(script, request).Run();
}

}  // namespace memplan::testing
