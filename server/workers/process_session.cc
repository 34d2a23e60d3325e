#include "server/workers/process_session.h"

#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <atomic>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/base/format.h"
#include "planner/base/status_macros.h"
#include "server/base/reason.h"
#include "server/workers/trial_from_report.h"
#include "server/workers/worker_conversation.h"

namespace memplan {
namespace {

using Clock = std::chrono::steady_clock;

// How much of a worker's output goes to the daemon's log, and into a message.
constexpr size_t kLoggedOutputBytes = 4096;
constexpr size_t kToldOutputBytes = 600;
// A program that the loader cannot complete ends with this, as in a shell.
constexpr int kExitNotLoaded = 127;

std::string SecondsText(Clock::duration duration) {
  return absl::StrCat(std::chrono::duration<double>(duration).count(), " s");
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

void LogSpeed(const std::optional<gpu::MemorySpeed>& speed) {
  if (!speed) return;
  if (!speed->absence.empty()) {
    spdlog::debug(
        "it is not known whether the trial's memory is the card's: {}",
        speed->absence);
    return;
  }
  spdlog::debug("the trial's memory is read at {:.1f} of {:.1f} GB/s",
                speed->slowest / 1e9, speed->peak / 1e9);
}

class ProcessSession : public WorkerSession {
 public:
  explicit ProcessSession(SessionParts parts)
      : parts_(std::move(parts)),
        talk_(parts_.worker.channel.get(),
              {.hello_deadline = parts_.begun + parts_.options.start_timeout,
               .scripted_gpu = parts_.options.scripted_gpus &&
                               parts_.order.device == gpu::DeviceKind::kCuda,
               .wake = parts_.cancel.descriptor()}) {}

  ~ProcessSession() override {
    if (is_open_) Kill(&WorkerCounts::cancelled);
    JoinPreparation();
  }
  ProcessSession(const ProcessSession&) = delete;
  ProcessSession& operator=(const ProcessSession&) = delete;

  void Prepare(const TrialOrder& order, gpu::Preparation preparation) override;
  absl::StatusOr<PreparedWorker> WaitUntilPrepared() override;
  absl::StatusOr<TrialResult> Run(const TrialOrder& order,
                                  const OnWorkerProgress& on_progress) override;
  absl::StatusOr<gpu::CallsReport> RunCalls(const CallsOrder& order) override;
  void End() override;
  void Interrupt() override;
  bool TakesOrders() const override { return is_open_ && !talk_.HasClosed(); }

 private:
  // What was ordered, and since when: what the words of failures need.
  struct Pending {
    std::chrono::milliseconds timeout;
    Clock::time_point begun;
  };

  gpu::TrialRequest WithSandbox(gpu::TrialRequest request) const;
  void JoinPreparation();
  absl::StatusOr<TrialResult> PreparationFailure();
  Talk TalkAboutRun(const TrialOrder& order, Clock::time_point begun,
                    const OnWorkerProgress& on_progress);
  // After an order: the trial it was, with the process gone unless it was
  // answered and is to stay.
  absl::StatusOr<TrialResult> Conclude(Talk talk, const Pending& pending,
                                       bool stays);
  absl::StatusOr<TrialResult> Failure(const Talk& talk, const Pending& pending);
  absl::StatusOr<TrialResult> Reported(Talk talk, bool stays);
  absl::StatusOr<TrialResult> Closed(const Talk& talk);
  TrialResult Died(const Talk& talk, std::string words) const;
  static TrialResult TimedOut(const Pending& pending, const Talk& talk);
  void KeepTrace(const TrialOrder& order, Trial& trial) const;
  void EndNow();
  void Kill(int64_t WorkerCounts::*cause);
  // Waits for the exit of a worker that has no order left. `wake` may be −1.
  void WaitForExit(int wake);
  void Learn(const Talk& talk) {
    if (!talk.sandbox.empty()) parts_.records.Learn(talk.sandbox, "");
  }

  SessionParts parts_;
  WorkerConversation talk_;  // the preparation's thread's until that is joined
  bool is_open_ = true;
  bool has_run_ = false;
  std::atomic<bool> is_interrupted_ = false;
  std::thread preparation_;
  std::optional<Pending> preparing_;
  std::optional<Talk> prepared_;  // what came of Prepare
  // The trial that it was, if it failed.
  std::optional<absl::StatusOr<TrialResult>> preparation_failure_;
};

gpu::TrialRequest ProcessSession::WithSandbox(gpu::TrialRequest request) const {
  const SandboxMode mode = parts_.options.sandbox;
  if (mode != SandboxMode::kOff) {
    request.sandbox = {.required = mode == SandboxMode::kRequire,
                       .scratch_path = parts_.scratch.path()};
  }
  return request;
}

void ProcessSession::Prepare(const TrialOrder& order,
                             gpu::Preparation preparation) {
  JoinPreparation();
  prepared_.reset();
  preparation_failure_.reset();
  // As of Run, the start of its process is part of the first order.
  preparing_ = Pending{order.timeout, has_run_ ? Clock::now() : parts_.begun};
  const auto prepare =
      [this,
       message = gpu::Prepare{.program = WithSandbox(order.request),
                              .preparation = preparation},
       begun = preparing_->begun, timeout = preparing_->timeout] {
        prepared_ = talk_.Prepare(message, begun + timeout);
        spdlog::debug("worker {} ended its preparation after {}",
                      parts_.worker.process->pid(),
                      SecondsText(Clock::now() - begun));
      };
  try {
    preparation_ = std::thread(prepare);
  } catch (const std::system_error& error) {
    spdlog::warn("a worker is not prepared beside the other: {}", error.what());
    prepare();
  }
}

void ProcessSession::JoinPreparation() {
  if (!preparation_.joinable()) return;
  const Clock::time_point begun = Clock::now();
  preparation_.join();
  spdlog::debug("the preparation of worker {} was waited for {}",
                parts_.worker.process->pid(),
                SecondsText(Clock::now() - begun));
}

absl::StatusOr<PreparedWorker> ProcessSession::WaitUntilPrepared() {
  JoinPreparation();
  if (!prepared_) return absl::UnavailableError("the worker was not prepared");
  const Talk& talk = *prepared_;
  Learn(talk);
  if (talk.prepared) return PreparedWorker{*talk.prepared, talk.torch_version};
  MEMPLAN_ASSIGN_OR_RETURN(const TrialResult result, PreparationFailure());
  return absl::UnavailableError(result.trial.message);
}

absl::StatusOr<TrialResult> ProcessSession::PreparationFailure() {
  if (!preparation_failure_ && prepared_ && preparing_) {
    preparation_failure_ = Conclude(*prepared_, *preparing_, /*stays=*/false);
  }
  if (!preparation_failure_) {
    return absl::UnavailableError("the worker was not prepared");
  }
  return *preparation_failure_;
}

absl::StatusOr<TrialResult> ProcessSession::Run(
    const TrialOrder& order, const OnWorkerProgress& on_progress) {
  // The start of its process is part of the first trial, unless it was prepared
  // ahead.
  const bool is_first = !has_run_;
  const Clock::time_point begun =
      is_first && !preparing_ ? parts_.begun : Clock::now();
  JoinPreparation();
  const bool is_ready = !prepared_ || prepared_->prepared.has_value();
  const Talk talk =
      is_ready ? TalkAboutRun(order, begun, on_progress) : *prepared_;
  Learn(talk);
  MEMPLAN_ASSIGN_OR_RETURN(
      TrialResult result,
      is_ready ? Conclude(talk, {order.timeout, begun}, order.request.stay)
               : PreparationFailure());
  has_run_ = true;
  result.worker_version = talk.torch_version;
  Trial& trial = result.trial;
  result.never_started =
      !talk.said_hello && trial.outcome == TrialOutcome::kWorkerDied;
  trial.batch = order.request.batch;
  trial.purpose = order.purpose;
  if (!trial.cap) trial.cap = order.request.cap;
  trial.seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  // What lies there after a death may be the trace of the trial before.
  const Clock::time_point answered = Clock::now();
  if (is_first || talk.end == TalkEnd::kAnswered) KeepTrace(order, trial);
  spdlog::debug("a trace of {} events was checked and kept in {}",
                trial.trace_events, SecondsText(Clock::now() - answered));
  return result;
}

Talk ProcessSession::TalkAboutRun(const TrialOrder& order,
                                  Clock::time_point begun,
                                  const OnWorkerProgress& on_progress) {
  const auto read_context =
      [&](const gpu::Settled& settled) -> std::optional<ContextReading> {
    std::optional<ContextReading> reading;
    if (parts_.context) {
      reading = parts_.context(parts_.worker.process->pid(), settled.reserved);
    }
    return reading ? reading : ContextFromDevice(settled);
  };
  return talk_.Run({.request = WithSandbox(order.request),
                    .deadline = begun + order.timeout,
                    .on_progress = on_progress,
                    .read_context = read_context});
}

absl::StatusOr<TrialResult> ProcessSession::Conclude(Talk talk,
                                                     const Pending& pending,
                                                     bool stays) {
  if (talk.end == TalkEnd::kAnswered) {
    return Reported(std::move(talk), stays);
  }
  if (!is_open_) {
    return Died(talk, "the worker was gone before this order");
  }
  return Failure(talk, pending);
}

// The process is gone when this returns.
absl::StatusOr<TrialResult> ProcessSession::Failure(const Talk& talk,
                                                    const Pending& pending) {
  const WorkerOptions& options = parts_.options;
  switch (talk.end) {
    case TalkEnd::kClosed:
      if (is_interrupted_) break;
      return Closed(talk);
    case TalkEnd::kTimedOut:
      Kill(&WorkerCounts::timed_out);
      if (!talk.said_hello && options.start_timeout < pending.timeout) {
        return Died(talk, absl::StrCat("the worker did not say hello within ",
                                       SecondsText(options.start_timeout),
                                       " and was killed"));
      }
      return TimedOut(pending, talk);
    case TalkEnd::kNonsense:
      Kill(&WorkerCounts::protocol_error);
      return Died(talk, absl::StrCat("the worker spoke nonsense and was "
                                     "killed: ",
                                     talk.words));
    case TalkEnd::kOtherVersion:
      Kill(&WorkerCounts::protocol_error);
      return WorkerUnusable(absl::StrCat("the worker ", options.program,
                                         " is of another release: ", talk.words,
                                         "; install both programs from one"));
    case TalkEnd::kRealWorker:
      Kill(&WorkerCounts::cancelled);
      return WithReason(
          absl::FailedPreconditionError(absl::StrCat(
              parts_.order.device_id, " is made up (--devices script:…), and ",
              options.program, " cannot run there: ", talk.words,
              "; run on cpu, start memplan-server with a scripted --worker, or "
              "without --devices")),
          "SCRIPTED_DEVICE");
    case TalkEnd::kNotSandboxed:
      Kill(&WorkerCounts::protocol_error);
      return SandboxMissing(talk.words);
    case TalkEnd::kCancelled:
    case TalkEnd::kAnswered:
      break;
  }
  Kill(&WorkerCounts::cancelled);
  return absl::CancelledError("the trial was cancelled");
}

absl::StatusOr<TrialResult> ProcessSession::Reported(Talk talk, bool stays) {
  if (is_open_ && !stays) {
    // One whose model did not load may wait for another order.
    if (prepared_)
      (void)talk_.SayEnd(Clock::now() + parts_.options.exit_timeout);
    WaitForExit(parts_.cancel.descriptor());
  }
  // There is always a report here; the check is for the reader and the tools.
  if (parts_.cancel.cancelled() || !talk.report) {
    if (is_open_) Kill(&WorkerCounts::cancelled);
    return absl::CancelledError("the trial was cancelled");
  }
  LogSpeed(talk.report->memory_speed);
  TrialResult result = ResultFrom(*std::move(talk.report));
  if (talk.context) {
    result.trial.context = talk.context->context;
    result.trial.context_source = talk.context->source;
  }
  return result;
}

void ProcessSession::WaitForExit(int wake) {
  const auto end = parts_.worker.process->WaitUntil(
      Clock::now() + parts_.options.exit_timeout, wake);
  if (!end) {
    Kill(parts_.cancel.cancelled() ? &WorkerCounts::cancelled
                                   : &WorkerCounts::lingered);
    return;
  }
  is_open_ = false;
  parts_.records.Count(parts_.cancel.cancelled() ? &WorkerCounts::cancelled
                       : end->by_signal ? &WorkerCounts::killed_by_signal
                                        : &WorkerCounts::exited);
}

absl::StatusOr<TrialResult> ProcessSession::Closed(const Talk& talk) {
  const auto end = parts_.worker.process->WaitUntil(
      Clock::now() + parts_.options.exit_timeout);
  if (!end) {
    Kill(&WorkerCounts::protocol_error);
    return Died(talk,
                "the worker closed its channel without a report, went on, and "
                "was killed");
  }
  is_open_ = false;
  parts_.records.Count(end->by_signal ? &WorkerCounts::killed_by_signal
                                      : &WorkerCounts::died);
  const std::string output = parts_.worker.output.Tail(kToldOutputBytes);
  if (!talk.said_hello && *end == ChildEnd{false, kExitNotLoaded}) {
    return WorkerUnusable(absl::StrCat(
        "the worker ", parts_.options.program, " cannot be loaded: ", output,
        "; give memplan-server libtorch's folders with "
        "--worker-library-path"));
  }
  return Died(
      talk, absl::StrCat("the worker ", EndText(*end),
                         " without a report, in its phase `", talk.phase, "`"));
}

TrialResult ProcessSession::Died(const Talk& talk, std::string words) const {
  if (const std::string told = parts_.worker.output.Tail(kToldOutputBytes);
      !told.empty()) {
    absl::StrAppend(&words, "; its last words: ", told);
    spdlog::warn("a worker died; the end of its output:\n{}",
                 parts_.worker.output.Tail(kLoggedOutputBytes));
  }
  TrialResult result;
  result.trial.outcome = TrialOutcome::kWorkerDied;
  result.trial.message = gpu::TrimmedMessage(words);
  if (parts_.group.WasKilledByItsLimit()) {
    result.trial.message = parts_.options.memory_groups->KilledText(talk.phase);
    result.trial.end_class =
        std::string(gpu::EndClassName(gpu::EndClass::kHostMemory));
  }
  return result;
}

TrialResult ProcessSession::TimedOut(const Pending& pending, const Talk& talk) {
  TrialResult result;
  result.trial.outcome = TrialOutcome::kTimedOut;
  result.trial.message =
      absl::StrCat("it took longer than ", SecondsText(pending.timeout),
                   " and was killed in its phase `", talk.phase, "`");
  return result;
}

absl::StatusOr<gpu::CallsReport> ProcessSession::RunCalls(
    const CallsOrder& order) {
  JoinPreparation();
  if (!is_open_) return absl::UnavailableError("the worker is gone");
  const Pending pending{order.timeout, Clock::now()};
  Talk talk = talk_.RunCalls(order.calls, pending.begun + order.timeout);
  if (talk.end == TalkEnd::kAnswered && talk.calls) {
    return *std::move(talk.calls);
  }
  MEMPLAN_ASSIGN_OR_RETURN(const TrialResult result, Failure(talk, pending));
  return absl::UnavailableError(result.trial.message);
}

void ProcessSession::End() {
  if (!is_open_) return;
  const Clock::time_point begun = Clock::now();
  EndNow();
  spdlog::debug("worker {} was gone {} after its end was said",
                parts_.worker.process->pid(),
                SecondsText(Clock::now() - begun));
}

void ProcessSession::Interrupt() {
  is_interrupted_ = true;
  (void)shutdown(parts_.worker.channel.get(), SHUT_RDWR);
}

void ProcessSession::EndNow() {
  // One that does not listen any more is killed without patience.
  const auto deadline = Clock::now() + parts_.options.exit_timeout;
  if (preparation_.joinable() || !talk_.SayEnd(deadline)) {
    Kill(&WorkerCounts::cancelled);
    JoinPreparation();
    return;
  }
  WaitForExit(parts_.cancel.descriptor());
}

void ProcessSession::Kill(int64_t WorkerCounts::*cause) {
  const bool is_idle = cause == &WorkerCounts::cancelled;
  if (const auto end = is_idle ? parts_.worker.process->WaitUntil(Clock::now())
                               : std::nullopt) {
    // It had ended by itself while it waited.
    is_open_ = false;
    parts_.records.Count(end->by_signal ? &WorkerCounts::killed_by_signal
                                        : &WorkerCounts::died);
    return;
  }
  // Ends a wait for it even if a driver keeps it from dying.
  (void)shutdown(parts_.worker.channel.get(), SHUT_RDWR);
  parts_.worker.process->Kill();
  is_open_ = false;
  parts_.records.Count(cause);
}

void ProcessSession::KeepTrace(const TrialOrder& order, Trial& trial) const {
  const TraceMemory& trace = parts_.worker.trace;
  const auto summary = trace.Read();
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
  // Of a trace that lacks its end the peak may lie there.
  if (!trial.trace_overflowed) {
    trial.peak_request = summary->attribution.peak;
    // What ended it is the last; what was made up for may have been larger.
    trial.refused_request = trial.outcome == TrialOutcome::kOutOfMemory
                                ? summary->attribution.last_refused
                                : summary->attribution.largest_refused;
    trial.contents_dependence = summary->attribution.contents;
  }
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
  if (const absl::Status written = trace.WriteTo(order.trace_path, *summary);
      !written.ok()) {
    spdlog::warn("the trace of batch {} is not kept: {}", trial.batch,
                 std::string(written.message()));
  }
}

}  // namespace

std::unique_ptr<WorkerSession> MakeProcessSession(SessionParts parts) {
  return std::make_unique<ProcessSession>(std::move(parts));
}

absl::Status WorkerUnusable(const std::string& message) {
  return WithReason(absl::FailedPreconditionError(message), "WORKER_UNUSABLE");
}

absl::Status SandboxMissing(const std::string& what) {
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          "the sandbox is required and not whole: ", what,
          "; start memplan-server on a kernel that has it, or with "
          "--sandbox=auto if the models are trusted")),
      "SANDBOX_MISSING");
}

}  // namespace memplan
