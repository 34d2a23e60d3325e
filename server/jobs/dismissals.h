// Ends workers that have no order left, on threads of their own: a process takes
// some tenths of a second to give its device back, which nobody needs to wait for
// who does not need the room.
#ifndef MEMPLAN_SERVER_JOBS_DISMISSALS_H_
#define MEMPLAN_SERVER_JOBS_DISMISSALS_H_

#include <memory>
#include <thread>
#include <vector>

#include "server/jobs/worker_session.h"

namespace memplan {

// Not thread-safe: one thread dismisses and waits. What the sessions were begun
// with must outlive it.
class Dismissals {
 public:
  Dismissals() = default;
  // As Wait.
  ~Dismissals() { Wait(); }
  Dismissals(const Dismissals&) = delete;
  Dismissals& operator=(const Dismissals&) = delete;

  // Has the worker end, and does not wait for that unless there is no thread to
  // be had. Null is nobody.
  void Dismiss(std::unique_ptr<WorkerSession> worker);

  // Returns once all that were dismissed are gone.
  void Wait();

 private:
  std::vector<std::thread> threads_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_DISMISSALS_H_
