#include "server/workers/process_trial_runner.h"

#include <signal.h>
#include <spdlog/spdlog.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "planner/base/format.h"
#include "planner/base/status_macros.h"
#include "server/base/reason.h"
#include "server/workers/sandbox_check.h"
#include "server/workers/scratch_folders.h"
#include "server/workers/trial_from_report.h"
#include "server/workers/worker.h"
#include "server/workers/worker_conversation.h"
#include "server/workers/worker_environment.h"

namespace memplan {
namespace {

using Clock = std::chrono::steady_clock;

// How much of a worker's output goes to the daemon's log, and into a message.
constexpr size_t kLoggedOutputBytes = 4096;
constexpr size_t kToldOutputBytes = 600;
// A program that the loader cannot complete ends with this, as in a shell.
constexpr int kExitNotLoaded = 127;

absl::Status Unusable(absl::string_view message) {
  return WithReason(absl::FailedPreconditionError(message), "WORKER_UNUSABLE");
}

absl::Status SandboxMissing(absl::string_view what) {
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          "the sandbox is required and not whole: ", what,
          "; start memplan-server on a kernel that has it, or with "
          "--sandbox=auto if the models are trusted")),
      "SANDBOX_MISSING");
}

std::string SecondsText(Clock::duration duration) {
  return absl::StrCat(std::chrono::duration<double>(duration).count(), " s");
}

// At once, so that the threads it will start inherit it.
void BeNice(pid_t pid, int niceness) {
  if (niceness == 0) return;
  if (setpriority(PRIO_PROCESS, static_cast<id_t>(pid), niceness) != 0) {
    spdlog::warn("worker {} does not get niceness {}: {}", pid, niceness,
                 std::generic_category().message(errno));
  }
}

std::string SignalName(int number) {
  const char* name = sigdescr_np(number);
  return name != nullptr ? name : "unknown";
}

std::string EndText(const ChildEnd& end) {
  if (!end.by_signal) return absl::StrCat("ended with exit code ", end.number);
  return absl::StrCat(
      "was killed by signal ", end.number, " (", SignalName(end.number), ")",
      end.number == SIGKILL ? ", as the system does when the host's memory is "
                              "full"
                            : "");
}

// What the worker itself sees of its device: other processes' memory counts as
// its own, so that it is the last resort. Unset on the CPU device.
std::optional<ContextReading> ContextFromDevice(const gpu::Settled& settled) {
  if (!settled.device_total || !settled.device_free) return std::nullopt;
  const Bytes outside =
      *settled.device_total - *settled.device_free - settled.reserved;
  if (outside < Bytes(0)) return std::nullopt;
  return ContextReading{outside, std::string(kContextFromDevice)};
}

class StandardRunner : public ProcessTrialRunner {
 public:
  explicit StandardRunner(WorkerOptions options)
      : options_(std::move(options)),
        surroundings_(SurroundingsOfThisProcess(options_.library_path)) {
    // Were it ignored (a parent may have left it so), no child could be waited
    // for.
    (void)signal(SIGCHLD, SIG_DFL);
    sandbox_.mode = options_.sandbox;
    if (!options_.scratch_path.empty()) {
      sandbox_.daemon_layers.push_back(ScratchFolderLayer());
    }
    if (options_.memory_groups != nullptr) {
      sandbox_.daemon_layers.push_back(options_.memory_groups->layer());
    }
  }

  absl::Status CheckUsable() const override;
  absl::StatusOr<TrialResult> Run(
      const TrialOrder& order, CancelSignal& cancel,
      const std::function<void(const gpu::Progress&)>& on_progress) override;

  WorkerCounts Counts() const override {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

  SandboxStatus Sandbox() const override {
    const std::lock_guard lock(mutex_);
    return sandbox_;
  }

  absl::Status LearnSandbox(const CancelSignal& cancel) override;

 private:
  absl::StatusOr<ScratchFolder> MakeScratch() const;
  absl::StatusOr<MemoryGroup> MakeGroup() const;
  std::vector<std::string> Environment(const std::string& device_id,
                                       const ScratchFolder& scratch) const;
  void Learn(const std::vector<gpu::SandboxLayer>& layers, std::string fault);
  absl::StatusOr<Worker> Start(const TrialOrder& order,
                               const ScratchFolder& scratch,
                               const MemoryGroup& group);
  Talk TalkTo(const Worker& worker, const TrialOrder& order,
              const ScratchFolder& scratch, const CancelSignal& cancel,
              Clock::time_point begun, const ContextReader& context,
              const std::function<void(const gpu::Progress&)>& on_progress);
  absl::StatusOr<TrialResult> Conclude(Worker& worker, const TrialOrder& order,
                                       CancelSignal& cancel, Talk talk);
  absl::StatusOr<TrialResult> Reported(Worker& worker, CancelSignal& cancel,
                                       Talk talk);
  absl::StatusOr<TrialResult> Closed(Worker& worker, const Talk& talk);
  TrialResult Died(const Worker& worker, std::string words) const;
  TrialResult TimedOut(const TrialOrder& order, const Talk& talk) const;
  void KeepTrace(const Worker& worker, const TrialOrder& order,
                 Trial& trial) const;
  void Count(int64_t WorkerCounts::*cause) {
    const std::lock_guard lock(mutex_);
    ++(counts_.*cause);
  }

  const WorkerOptions options_;
  const WorkerSurroundings surroundings_;
  mutable std::mutex mutex_;
  WorkerCounts counts_;    // under mutex_
  SandboxStatus sandbox_;  // under mutex_
};

absl::Status StandardRunner::CheckUsable() const {
  const std::string& program = options_.program;
  const std::string next_step =
      "; install memplan-worker there, or start memplan-server with --worker "
      "and its path";
  if (program.empty()) {
    return Unusable(
        "this daemon runs no probes (--worker none); ask one that does, or "
        "start it with --worker and the path of memplan-worker");
  }
  struct stat status {};
  if (stat(program.c_str(), &status) != 0) {
    return Unusable(absl::StrCat(
        "the worker program ", program,
        " is missing: ", std::generic_category().message(errno), next_step));
  }
  if (!S_ISREG(status.st_mode) || access(program.c_str(), X_OK) != 0) {
    return Unusable(absl::StrCat("the worker program ", program,
                                 " cannot be executed", next_step));
  }
  return absl::OkStatus();
}

absl::Status StandardRunner::LearnSandbox(const CancelSignal& cancel) {
  if (options_.sandbox == SandboxMode::kOff) {
    spdlog::warn("{}", SandboxLine(Sandbox()));
    return absl::OkStatus();
  }
  const auto layers = CheckSandbox({.program = options_.program,
                                    .environment = Environment("cpu", {}),
                                    .timeout = options_.start_timeout,
                                    .wake = cancel.descriptor()});
  if (absl::IsCancelled(layers.status())) return absl::OkStatus();
  if (layers.ok()) {
    Learn(*layers, "");
  } else {
    Learn({}, std::string(layers.status().message()));
  }
  const auto missing =
      gpu::CoreLayersMissing(layers.value_or(std::vector<gpu::SandboxLayer>{}));
  spdlog::log(missing.empty() ? spdlog::level::info : spdlog::level::warn, "{}",
              SandboxLine(Sandbox()));
  if (missing.empty() || options_.sandbox != SandboxMode::kRequire) {
    return absl::OkStatus();
  }
  return SandboxMissing(layers.ok() ? absl::StrJoin(missing, "; ")
                                    : std::string(layers.status().message()));
}

void StandardRunner::Learn(const std::vector<gpu::SandboxLayer>& layers,
                           std::string fault) {
  const std::lock_guard lock(mutex_);
  sandbox_.layers = LayersFromWorker(layers);
  sandbox_.fault = std::move(fault);
}

absl::StatusOr<ScratchFolder> StandardRunner::MakeScratch() const {
  if (options_.scratch_path.empty()) return ScratchFolder();
  auto scratch = ScratchFolder::Make(options_.scratch_path);
  if (!scratch.ok()) return WithReason(scratch.status(), "HOST_EXHAUSTED");
  return scratch;
}

absl::StatusOr<MemoryGroup> StandardRunner::MakeGroup() const {
  if (options_.memory_groups == nullptr) return MemoryGroup();
  auto group = options_.memory_groups->Make();
  if (!group.ok()) return WithReason(group.status(), "HOST_EXHAUSTED");
  return group;
}

std::vector<std::string> StandardRunner::Environment(
    const std::string& device_id, const ScratchFolder& scratch) const {
  WorkerSurroundings surroundings = surroundings_;
  if (!scratch.path().empty()) {
    surroundings.home = scratch.path();
    surroundings.temporary_folder = scratch.path();
  }
  return WorkerEnvironment(surroundings, device_id);
}

absl::StatusOr<Worker> StandardRunner::Start(const TrialOrder& order,
                                             const ScratchFolder& scratch,
                                             const MemoryGroup& group) {
  absl::Status usable = CheckUsable();
  if (usable.ok()) {
    auto worker =
        StartWorker(options_.program, Environment(order.device_id, scratch),
                    options_.trace_bytes);
    usable = worker.ok() ? group.Add(worker->process->pid()) : worker.status();
    if (usable.ok()) {
      Count(&WorkerCounts::started);
      return worker;
    }
    if (absl::IsFailedPrecondition(usable)) {
      usable = Unusable(std::string(usable.message()));
    } else if (absl::IsResourceExhausted(usable)) {
      usable = WithReason(usable, "HOST_EXHAUSTED");
    }
  }
  Count(&WorkerCounts::start_failed);
  return usable;
}

absl::StatusOr<TrialResult> StandardRunner::Run(
    const TrialOrder& order, CancelSignal& cancel,
    const std::function<void(const gpu::Progress&)>& on_progress) {
  const bool on_gpu = order.request.device == gpu::DeviceKind::kCuda;
  ContextReader context;
  if (on_gpu && options_.begin_context) {
    context = options_.begin_context(order.device_id);
  }
  const Clock::time_point begun = Clock::now();
  // Both outlive the worker.
  MEMPLAN_ASSIGN_OR_RETURN(const ScratchFolder scratch, MakeScratch());
  MEMPLAN_ASSIGN_OR_RETURN(const MemoryGroup group, MakeGroup());
  MEMPLAN_ASSIGN_OR_RETURN(Worker worker, Start(order, scratch, group));
  BeNice(worker.process->pid(), order.niceness);
  Talk talk =
      TalkTo(worker, order, scratch, cancel, begun, context, on_progress);
  if (!talk.sandbox.empty()) Learn(talk.sandbox, "");
  const bool said_hello = talk.said_hello;
  const std::string phase = talk.phase;
  std::string version = talk.torch_version;
  MEMPLAN_ASSIGN_OR_RETURN(TrialResult result,
                           Conclude(worker, order, cancel, std::move(talk)));
  result.worker_version = std::move(version);
  result.never_started =
      !said_hello && result.trial.outcome == TrialOutcome::kWorkerDied;
  Trial& trial = result.trial;
  if (trial.outcome == TrialOutcome::kWorkerDied &&
      group.WasKilledByItsLimit()) {
    trial.message = options_.memory_groups->KilledText(phase);
  }
  trial.batch = order.request.batch;
  trial.purpose = order.purpose;
  if (!trial.cap) trial.cap = order.request.cap;
  trial.seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  KeepTrace(worker, order, trial);
  return result;
}

Talk StandardRunner::TalkTo(
    const Worker& worker, const TrialOrder& order, const ScratchFolder& scratch,
    const CancelSignal& cancel, Clock::time_point begun,
    const ContextReader& context,
    const std::function<void(const gpu::Progress&)>& on_progress) {
  TalkOrder talk;
  talk.request = order.request;
  if (options_.sandbox != SandboxMode::kOff) {
    talk.request.sandbox = {
        .required = options_.sandbox == SandboxMode::kRequire,
        .scratch_path = scratch.path()};
  }
  talk.hello_deadline = begun + options_.start_timeout;
  talk.deadline = begun + order.timeout;
  talk.wake = cancel.descriptor();
  talk.scripted_gpu =
      options_.scripted_gpus && order.request.device == gpu::DeviceKind::kCuda;
  talk.on_progress = on_progress;
  talk.read_context =
      [&](const gpu::Settled& settled) -> std::optional<ContextReading> {
    std::optional<ContextReading> reading;
    if (context) reading = context(worker.process->pid(), settled.reserved);
    return reading ? reading : ContextFromDevice(settled);
  };
  return TalkWithWorker(worker.channel.get(), talk);
}

// The process is gone when this returns.
absl::StatusOr<TrialResult> StandardRunner::Conclude(Worker& worker,
                                                     const TrialOrder& order,
                                                     CancelSignal& cancel,
                                                     Talk talk) {
  switch (talk.end) {
    case TalkEnd::kReported:
      return Reported(worker, cancel, std::move(talk));
    case TalkEnd::kClosed:
      return Closed(worker, talk);
    case TalkEnd::kTimedOut:
      worker.process->Kill();
      Count(&WorkerCounts::timed_out);
      if (!talk.said_hello && options_.start_timeout < order.timeout) {
        return Died(worker, absl::StrCat("the worker did not say hello within ",
                                         SecondsText(options_.start_timeout),
                                         " and was killed"));
      }
      return TimedOut(order, talk);
    case TalkEnd::kNonsense:
      worker.process->Kill();
      Count(&WorkerCounts::protocol_error);
      return Died(worker, absl::StrCat("the worker spoke nonsense and was "
                                       "killed: ",
                                       talk.words));
    case TalkEnd::kOtherVersion:
      worker.process->Kill();
      Count(&WorkerCounts::protocol_error);
      return Unusable(absl::StrCat("the worker ", options_.program,
                                   " is of another release: ", talk.words,
                                   "; install both programs from one"));
    case TalkEnd::kRealWorker:
      worker.process->Kill();
      Count(&WorkerCounts::cancelled);
      return WithReason(
          absl::FailedPreconditionError(absl::StrCat(
              order.device_id, " is made up (--devices script:…), and ",
              options_.program, " cannot run there: ", talk.words,
              "; run on cpu, start memplan-server with a scripted --worker, or "
              "without --devices")),
          "SCRIPTED_DEVICE");
    case TalkEnd::kNotSandboxed:
      worker.process->Kill();
      Count(&WorkerCounts::protocol_error);
      return SandboxMissing(talk.words);
    case TalkEnd::kCancelled:
      break;
  }
  worker.process->Kill();
  Count(&WorkerCounts::cancelled);
  return absl::CancelledError("the trial was cancelled");
}

absl::StatusOr<TrialResult> StandardRunner::Reported(Worker& worker,
                                                     CancelSignal& cancel,
                                                     Talk talk) {
  const auto end = worker.process->WaitUntil(
      Clock::now() + options_.exit_timeout, cancel.descriptor());
  if (!end) worker.process->Kill();
  // There is always a report here; the check is for the reader and the tools.
  if (cancel.cancelled() || !talk.report) {
    Count(&WorkerCounts::cancelled);
    return absl::CancelledError("the trial was cancelled");
  }
  Count(!end             ? &WorkerCounts::lingered
        : end->by_signal ? &WorkerCounts::killed_by_signal
                         : &WorkerCounts::exited);
  TrialResult result = ResultFrom(*std::move(talk.report));
  if (talk.context) {
    result.trial.context = talk.context->context;
    result.trial.context_source = talk.context->source;
  }
  return result;
}

absl::StatusOr<TrialResult> StandardRunner::Closed(Worker& worker,
                                                   const Talk& talk) {
  const auto end =
      worker.process->WaitUntil(Clock::now() + options_.exit_timeout);
  if (!end) {
    worker.process->Kill();
    Count(&WorkerCounts::protocol_error);
    return Died(worker,
                "the worker closed its channel without a report, went on, and "
                "was killed");
  }
  Count(end->by_signal ? &WorkerCounts::killed_by_signal : &WorkerCounts::died);
  const std::string output = worker.output.Tail(kToldOutputBytes);
  if (!talk.said_hello && *end == ChildEnd{false, kExitNotLoaded}) {
    return Unusable(absl::StrCat(
        "the worker ", options_.program, " cannot be loaded: ", output,
        "; give memplan-server libtorch's folders with "
        "--worker-library-path"));
  }
  return Died(worker, absl::StrCat("the worker ", EndText(*end),
                                   " without a report, in its phase `",
                                   talk.phase, "`"));
}

TrialResult StandardRunner::Died(const Worker& worker,
                                 std::string words) const {
  if (const std::string told = worker.output.Tail(kToldOutputBytes);
      !told.empty()) {
    absl::StrAppend(&words, "; its last words: ", told);
    spdlog::warn("a worker died; the end of its output:\n{}",
                 worker.output.Tail(kLoggedOutputBytes));
  }
  TrialResult result;
  result.trial.outcome = TrialOutcome::kWorkerDied;
  result.trial.message = gpu::TrimmedMessage(words);
  return result;
}

TrialResult StandardRunner::TimedOut(const TrialOrder& order,
                                     const Talk& talk) const {
  TrialResult result;
  result.trial.outcome = TrialOutcome::kTimedOut;
  result.trial.message =
      absl::StrCat("it took longer than ", SecondsText(order.timeout),
                   " and was killed in its phase `", talk.phase, "`");
  return result;
}

void StandardRunner::KeepTrace(const Worker& worker, const TrialOrder& order,
                               Trial& trial) const {
  const auto summary = worker.trace.Read();
  if (!summary.ok()) {
    // A worker that ended before it began to record leaves zeros.
    if (!trial.steps.empty()) {
      spdlog::warn("batch {}: {}", trial.batch,
                   std::string(summary.status().message()));
    }
    return;
  }
  trial.trace_events = static_cast<int64_t>(summary->header.record_count);
  trial.trace_overflowed = summary->overflowed();
  const Bytes reported = TrialPeaks(trial).requested;
  if (trial.outcome == TrialOutcome::kFits && !trial.trace_overflowed &&
      summary->peak_requested != reported) {
    spdlog::debug(
        "batch {}: the trace shows a requested peak of {}, the "
        "worker reports {}",
        trial.batch, FormatBytes(summary->peak_requested),
        FormatBytes(reported));
  }
  if (order.trace_path.empty()) return;
  if (const absl::Status written =
          worker.trace.WriteTo(order.trace_path, *summary);
      !written.ok()) {
    spdlog::warn("the trace of batch {} is not kept: {}", trial.batch,
                 std::string(written.message()));
  }
}

}  // namespace

std::unique_ptr<ProcessTrialRunner> MakeProcessTrialRunner(
    WorkerOptions options) {
  return std::make_unique<StandardRunner>(std::move(options));
}

}  // namespace memplan
