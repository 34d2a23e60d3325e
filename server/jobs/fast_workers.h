// The workers of a search that predicts, as far as they are processes: who is
// started when, who is ready, and who is let go. What they run is not its matter.
//
//   recorder   prepare ─ runs and calls ─ end
//   verifier        prepare ─ · · · waits · · · ─ is the recorder from then on
//   helpers               open libraries ─ · calls ─ end   none, one or two
//
// Where two have room, the verifier runs a small batch while the recorder records
// and gives all of it up, since what its libraries load at their first use would
// else be waited for when its turn comes. Where nothing is recorded yet, that is
// the batch that will most likely be recorded second, so that it is recorded at
// the same time as the first (recording_ahead); else it only rehearses the first.
// What is recorded ahead is a guess: it is limited to three quarters of the cap,
// and counts only if it was refused nothing there. Where more have room,
// helpers share the recorder's calls, of which a network of convolutions has
// many: choosing among a library's algorithms keeps a core busy, not the device.
// They start during the first recording, before its trace tells whether there are
// many: they take as long to start as the recording takes.
#ifndef MEMPLAN_SERVER_JOBS_FAST_WORKERS_H_
#define MEMPLAN_SERVER_JOBS_FAST_WORKERS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/jobs/dismissals.h"
#include "server/jobs/execution_tools.h"
#include "server/jobs/probe_trials.h"
#include "server/jobs/recording_ahead.h"

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
  // The recorder, which there is, and the helpers that take orders.
  std::vector<WorkerSession*> CallWorkers();
  // Likewise, for whoever is to have their last orders carried out.
  std::vector<Session> TakeCallWorkers();

  // The worker that will verify, if it can be had by now: only a courtesy, so
  // that failures do not count. With a budget it waits until the first has shown
  // what a worker holds outside its allocator, since two cannot be told apart.
  void HaveVerifier();
  // As HaveVerifier; where it may, the worker records `batch` first, the second
  // recording to come.
  void HaveVerifierRecord(int64_t batch);
  // What it recorded, if that was `batch` and is as it would have been under the
  // cap of the trials; waits for that. Once; null otherwise, and nothing is recorded
  // ahead any more, since the next trial's trace lies where that one's would.
  std::unique_ptr<TrialResult> TakeRecordedAhead(int64_t batch);
  // Nobody will ask for what is recorded ahead: its worker is to be gone.
  void DropRecordedAhead();
  // The helpers, as many as have room. They are had once; as of HaveVerifier.
  void HaveHelpers();
  // Waits until it is ready. False if there is none, or it died meanwhile, which
  // is nobody's trial.
  bool VerifierIsReady();
  // Lets recorder and helpers go and puts a worker in place that has run nothing,
  // but for a rehearsal or a recording of another batch than `batch`: of one that
  // ran before, cuDNN knows what it chose. It knows the program: should operators have to be
  // run again, it can.
  std::optional<ProbeEnding> TakeTurns(int64_t batch);

  // Lets all go, and does not wait for their end. They may be had again.
  void LetGo();
  // Until those that were let go hold nothing any more.
  void WaitForThoseLetGo() { dismissals().Wait(); }
  // Whether one worker may run something while another does: not without room for
  // both, nor where cuDNN chooses by the clock, which the other would disturb.
  bool MayWorkBeside() const;
  // Whether another worker holds memory on the device beside the recorder.
  bool AreSeveral() const {
    return verifier_ != nullptr || ahead_ != nullptr || !helpers_.empty();
  }

 private:
  absl::StatusOr<Session> Begin() const;
  std::optional<ProbeEnding> Start(Session& session,
                                   gpu::Preparation preparation);
  void DismissHelpers();
  // The worker that recorded ahead is the verifier, once it has.
  void TakeVerifierFromAhead();
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
  std::vector<Session> helpers_;
  bool may_prepare_ahead_ = true;
  bool may_have_helpers_ = true;
  // Has the worker that will be the verifier.
  std::unique_ptr<RecordingAhead> ahead_;
  std::optional<int64_t> rehearsed_;  // the batch that the verifier ran
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_FAST_WORKERS_H_
