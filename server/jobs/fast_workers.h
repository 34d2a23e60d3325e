// The two workers of a search that predicts, as far as they are processes: who is
// started when, who is ready, and who is let go. What they run is not its matter.
//
//   recorder   prepare ─ runs and calls ─ end
//   verifier        prepare ─ · · · waits · · · ─ is the recorder from then on
#ifndef MEMPLAN_SERVER_JOBS_FAST_WORKERS_H_
#define MEMPLAN_SERVER_JOBS_FAST_WORKERS_H_

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/jobs/dismissals.h"
#include "server/jobs/execution_tools.h"
#include "server/jobs/probe_trials.h"

namespace memplan {

// Not thread-safe. What it is given outlives it.
class FastWorkers {
 public:
  using Session = std::unique_ptr<WorkerSession>;

  FastWorkers(const ProbeSpec& spec, const ExecutionTools& tools,
              ProbeTrials& trials)
      : spec_(spec), tools_(tools), trials_(trials) {}
  // Kills those there are. Those that were let go are gone when this returns,
  // unless the tools name who waits for them.
  ~FastWorkers() = default;
  FastWorkers(const FastWorkers&) = delete;
  FastWorkers& operator=(const FastWorkers&) = delete;

  // Starts a recorder unless there is one that takes orders, prepared or not.
  // Gives back the probe's ending if there can be none.
  std::optional<ProbeEnding> HaveRecorder();
  // The recorder, which there is.
  WorkerSession& recorder() { return *recorder_; }
  // Ends the recorder and starts a process in its place that has prepared
  // nothing.
  absl::Status RenewRecorder();
  void DropRecorder() { recorder_.reset(); }
  // For whoever is to have its last orders carried out.
  Session TakeRecorder() { return std::move(recorder_); }

  // The worker that will verify, if it can be had by now: only a courtesy, so
  // that failures do not count. With a budget it waits until the first has shown
  // what a worker holds outside its allocator, since two cannot be told apart.
  void HaveVerifier();
  // Waits until it is ready. False if there is none, or it died meanwhile, which
  // is nobody's trial.
  bool VerifierIsReady() const;
  // Lets the recorder go and puts a worker in its place that has run nothing. It
  // knows the program: should operators have to be run again, it can.
  std::optional<ProbeEnding> TakeTurns();

  // Lets both go, and does not wait for their end. They may be had again.
  void LetGo();
  // Until those that were let go hold nothing any more.
  void WaitForThoseLetGo() { dismissals().Wait(); }
  // Whether another worker holds memory on the device beside the recorder.
  bool AreTwo() const { return verifier_ != nullptr; }

 private:
  absl::StatusOr<Session> Begin() const;
  std::optional<ProbeEnding> Start(Session& session);
  RunBatch AnyBatch() const;
  bool LeavesRoomForTwo() const;
  Dismissals& dismissals() {
    return tools_.dismissals != nullptr ? *tools_.dismissals : own_;
  }

  const ProbeSpec& spec_;
  const ExecutionTools& tools_;
  ProbeTrials& trials_;
  Dismissals own_;
  Session recorder_;
  Session verifier_;
  bool may_prepare_ahead_ = true;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_FAST_WORKERS_H_
