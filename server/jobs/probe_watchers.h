// Who wants to hear of which probe. One thread of its own calls them all, so
// that whoever changes a probe never waits for them, and each hears of the
// changes in order and of one at a time.
#ifndef MEMPLAN_SERVER_JOBS_PROBE_WATCHERS_H_
#define MEMPLAN_SERVER_JOBS_PROBE_WATCHERS_H_

#include <functional>
#include <memory>

#include "server/base/work_queue.h"
#include "server/jobs/probe_jobs.h"

namespace memplan {

// Thread-safe. Subscriptions may outlive it.
class ProbeWatchers {
 public:
  using ProbePtr = ProbeJobs::ProbePtr;
  using OnChange = std::function<void(ProbePtr)>;

  ProbeWatchers();
  ~ProbeWatchers();

  // Calls `on_change` with `now`, then with each version of the same probe that
  // Tell is called with, as ProbeJobs::Watch says. The caller sees to it that no
  // version between is missed.
  std::unique_ptr<ProbeJobs::Subscription> Add(ProbePtr now,
                                               OnChange on_change);
  // Calls `on_end` once, as ProbeJobs::WhenEnded says.
  std::unique_ptr<ProbeJobs::Subscription> AddForEnd(ProbePtr now,
                                                     OnChange on_end);
  void Tell(const ProbePtr& probe);
  // Calls everybody with null for the last time; also those who come later,
  // right after their first call. Waits until all who are there were called.
  void End();

 private:
  struct Watch;
  struct Watches;
  class Handle;

  // Only whoever waits for ends has a kind of its own, so that thousands of them
  // cost nothing while a probe changes.
  enum class Kind { kChanges, kEnd };
  std::unique_ptr<ProbeJobs::Subscription> Register(Kind kind, ProbePtr now,
                                                    bool call_now,
                                                    OnChange call);
  void Call(std::shared_ptr<Watch> watch, ProbePtr probe);

  const std::shared_ptr<Watches> watches_;
  WorkQueue calls_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_PROBE_WATCHERS_H_
