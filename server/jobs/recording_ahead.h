// Has a worker record a batch on a thread, while the caller has another worker
// record one: the second recording of a search, guessed before the first shows
// which it is. Then the worker loads the program anew, as one that is to verify.
//
//   caller     record 8 ───────▶ wait ─▶ the trial of 32
//   worker     ─ record 32 ───────┴─ load ─▶ ready, if the guess was right or not
#ifndef MEMPLAN_SERVER_JOBS_RECORDING_AHEAD_H_
#define MEMPLAN_SERVER_JOBS_RECORDING_AHEAD_H_

#include <cstdint>
#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/jobs/worker_session.h"

namespace memplan {

// Used by one thread.
class RecordingAhead {
 public:
  // Begins. `record`: what is recorded, by a worker that stays; `program`: what
  // it gets ready for then. If there is no thread to be had, all is done when
  // this returns.
  RecordingAhead(std::unique_ptr<WorkerSession> worker, TrialOrder record,
                 TrialOrder program);
  // As Interrupt.
  ~RecordingAhead();
  RecordingAhead(const RecordingAhead&) = delete;
  RecordingAhead& operator=(const RecordingAhead&) = delete;

  int64_t batch() const { return record_.request.batch; }

  // What came of the recording; waits for that. Errors: those of
  // WorkerSession::Run.
  const absl::StatusOr<TrialResult>& Wait();
  // The worker; waits for the recording's end, not for what it loads then. Once.
  std::unique_ptr<WorkerSession> TakeWorker();
  // Has the recording end now, and its worker with it.
  void Interrupt();

 private:
  void Work();

  std::unique_ptr<WorkerSession> worker_;
  const TrialOrder record_;
  const TrialOrder program_;
  absl::StatusOr<TrialResult> result_;
  std::thread thread_;  // last: it uses all of the above
};

// Whether a recording under some cap is as it would be under any larger one: it
// got through and was never refused anything.
bool IsAsUnderALargerCap(const Trial& trial);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_RECORDING_AHEAD_H_
