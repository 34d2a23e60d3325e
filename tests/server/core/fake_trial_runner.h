// A TrialRunner without processes: a function says how each batch ends. Trials
// can be held until the test lets them go.
#ifndef MEMPLAN_TESTS_SERVER_CORE_FAKE_TRIAL_RUNNER_H_
#define MEMPLAN_TESTS_SERVER_CORE_FAKE_TRIAL_RUNNER_H_

#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/base/descriptor.h"
#include "server/jobs/trial_runner.h"

namespace memplan::testing {

inline Trial TrialThat(TrialOutcome outcome, std::string message = "") {
  Trial trial;
  trial.outcome = outcome;
  trial.message = std::move(message);
  if (outcome == TrialOutcome::kFits) trial.steps.resize(1);
  return trial;
}

// Thread-safe.
class FakeTrialRunner : public TrialRunner {
 public:
  using Outcome = std::function<absl::StatusOr<TrialResult>(const TrialOrder&)>;

  // Batches up to `largest` fit, all others run out of memory.
  static Outcome FitsUpTo(int64_t largest) {
    return [largest](const TrialOrder& order) -> absl::StatusOr<TrialResult> {
      const bool fits = order.request.batch <= largest;
      return TrialResult{fits ? TrialThat(TrialOutcome::kFits)
                              : TrialThat(TrialOutcome::kOutOfMemory, "full"),
                         std::nullopt};
    };
  }
  static Outcome Always(TrialOutcome outcome, std::string message = "") {
    return
        [outcome, message](const TrialOrder&) -> absl::StatusOr<TrialResult> {
          return TrialResult{TrialThat(outcome, message), std::nullopt};
        };
  }

  explicit FakeTrialRunner(Outcome outcome) : outcome_(std::move(outcome)) {}

  absl::StatusOr<TrialResult> Run(
      const TrialOrder& order, CancelSignal& cancel,
      const OnWorkerProgress& on_progress) override {
    {
      const std::lock_guard lock(mutex_);
      orders_.push_back(order);
    }
    ordered_.notify_all();
    for (const gpu::Progress& progress : progress_) on_progress(progress);
    if (!WaitUntilLetGo(cancel)) return absl::CancelledError("cancelled");
    absl::StatusOr<TrialResult> result = outcome_(order);
    if (result.ok()) {
      result->trial.batch = order.request.batch;
      result->trial.purpose = order.purpose;
      result->trial.cap = order.request.cap;
    }
    return result;
  }

  absl::StatusOr<std::unique_ptr<WorkerSession>> Begin(
      const SessionOrder& order, CancelSignal& cancel) override;

  // Waits until the session of this number is interrupted.
  void WaitForInterrupt(int number) {
    std::unique_lock lock(mutex_);
    ordered_.wait(lock, [&] { return interrupted_.contains(number); });
  }

  // What sessions did, in order: the worker's number (from 1) and the order, such
  // as `1 prepare`, `1 run 8`, `1 calls 3`, `1 end`, `1 killed`, `1 interrupted`.
  std::vector<std::string> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  // How sessions answer to calls; without it they know none of them.
  using Calls =
      std::function<absl::StatusOr<gpu::CallsReport>(const gpu::RunCalls&)>;
  void set_calls(Calls calls) { calls_ = std::move(calls); }
  // What WaitUntilPrepared says of the worker of this number.
  using Prepared = std::function<absl::StatusOr<PreparedWorker>(int number)>;
  void set_prepared(Prepared prepared) { prepared_ = std::move(prepared); }

  // Called when a session's worker, by its number, is to end.
  void set_on_end(std::function<void(int number)> on_end) {
    on_end_ = std::move(on_end);
  }

  absl::Status CheckUsable() const override { return absl::OkStatus(); }

  // From now on each trial waits for a LetGo of its own, or to be cancelled.
  void HoldTrials() {
    gate_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE));
  }
  void LetGo(int trials = 1) {
    (void)eventfd_write(gate_.get(), static_cast<eventfd_t>(trials));
  }
  // What each trial's worker says of its progress.
  void set_progress(std::vector<gpu::Progress> progress) {
    progress_ = std::move(progress);
  }

  // Waits until `count` trials have been ordered.
  void WaitForOrders(size_t count) {
    std::unique_lock lock(mutex_);
    ordered_.wait(lock, [&] { return orders_.size() >= count; });
  }

  std::vector<TrialOrder> orders() const {
    const std::lock_guard lock(mutex_);
    return orders_;
  }
  std::vector<int64_t> batches() const {
    std::vector<int64_t> batches;
    for (const TrialOrder& order : orders()) {
      batches.push_back(order.request.batch);
    }
    return batches;
  }

 private:
  friend class FakeWorkerSession;

  void Note(int number, const std::string& what) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::to_string(number) + " " + what);
  }

  void Interrupt(int number) {
    Note(number, "interrupted");
    {
      const std::lock_guard lock(mutex_);
      interrupted_.insert(number);
    }
    ordered_.notify_all();
  }
  bool IsInterrupted(int number) const {
    const std::lock_guard lock(mutex_);
    return interrupted_.contains(number);
  }

  bool WaitUntilLetGo(const CancelSignal& cancel) {
    if (!gate_.is_open()) return !cancel.cancelled();
    std::array<pollfd, 2> wait = {
        {{gate_.get(), POLLIN, 0}, {cancel.descriptor(), POLLIN, 0}}};
    (void)poll(wait.data(), wait.size(), -1);
    if (wait[1].revents != 0) return false;
    eventfd_t ignored = 0;
    (void)eventfd_read(gate_.get(), &ignored);
    return true;
  }

  const Outcome outcome_;
  std::vector<gpu::Progress> progress_;
  Descriptor gate_;
  mutable std::mutex mutex_;
  std::condition_variable ordered_;
  std::vector<TrialOrder> orders_;
  std::vector<std::string> events_;  // under mutex_
  std::set<int> interrupted_;        // under mutex_
  int sessions_ = 0;
  Calls calls_;
  Prepared prepared_;
  std::function<void(int)> on_end_;
};

// A worker of the runner, which it takes its answers from.
class FakeWorkerSession : public WorkerSession {
 public:
  FakeWorkerSession(FakeTrialRunner& runner, CancelSignal& cancel, int number)
      : runner_(runner), cancel_(cancel), number_(number) {}
  ~FakeWorkerSession() override {
    if (is_open_) runner_.Note(number_, "killed");
  }

  void Prepare(const TrialOrder& order, gpu::Preparation preparation) override {
    switch (preparation) {
      case gpu::Preparation::kProgram:
        return runner_.Note(number_, "prepare");
      case gpu::Preparation::kRehearsedProgram:
        return runner_.Note(number_,
                            "rehearse " + std::to_string(order.request.batch));
      case gpu::Preparation::kLibraries:
        return runner_.Note(number_, "open libraries");
    }
  }
  absl::StatusOr<PreparedWorker> WaitUntilPrepared() override {
    if (runner_.prepared_) return runner_.prepared_(number_);
    return PreparedWorker{{"Fake GPU", "1", "9"}, "2"};
  }
  absl::StatusOr<TrialResult> Run(
      const TrialOrder& order, const OnWorkerProgress& on_progress) override {
    runner_.Note(number_, "run " + std::to_string(order.request.batch));
    auto result = runner_.Run(order, cancel_, on_progress);
    if (runner_.IsInterrupted(number_)) {
      result = absl::CancelledError("interrupted");
    }
    const bool died =
        result.ok() && result->trial.outcome == TrialOutcome::kWorkerDied;
    if (!result.ok() || died || !order.request.stay) is_open_ = false;
    if (result.ok() && result->worker_version.empty()) {
      result->worker_version = "2";
    }
    return result;
  }
  absl::StatusOr<gpu::CallsReport> RunCalls(const CallsOrder& order) override {
    runner_.Note(number_, "calls " + std::to_string(order.calls.calls.size()));
    gpu::CallsReport report;
    report.results.resize(order.calls.calls.size());
    if (!runner_.calls_) return report;
    auto told = runner_.calls_(order.calls);
    if (!told.ok()) is_open_ = false;
    return told;
  }
  void End() override {
    if (is_open_ && runner_.on_end_) runner_.on_end_(number_);
    if (std::exchange(is_open_, false)) runner_.Note(number_, "end");
  }
  void Interrupt() override { runner_.Interrupt(number_); }
  bool TakesOrders() const override { return is_open_; }

 private:
  FakeTrialRunner& runner_;
  CancelSignal& cancel_;
  const int number_;
  bool is_open_ = true;
};

inline absl::StatusOr<std::unique_ptr<WorkerSession>> FakeTrialRunner::Begin(
    const SessionOrder& /*order*/, CancelSignal& cancel) {
  return std::make_unique<FakeWorkerSession>(*this, cancel, ++sessions_);
}

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SERVER_CORE_FAKE_TRIAL_RUNNER_H_
