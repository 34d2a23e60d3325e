// What to do when workers die again and again, in one probe or before any of
// them can begin. A death is a trial's outcome; only many in a row are a reason
// to wait, and then to give up.
//
//   deaths in a row   1       2      3    …             most_deaths
//   before the next   pause   ×2     ×4   … longest     the probe fails
#ifndef MEMPLAN_SERVER_JOBS_WORKER_PATIENCE_H_
#define MEMPLAN_SERVER_JOBS_WORKER_PATIENCE_H_

#include <chrono>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "planner/plan/trial.h"

namespace memplan {

struct WorkerPatience {
  std::chrono::milliseconds first_pause = std::chrono::milliseconds(250);
  std::chrono::milliseconds longest_pause = std::chrono::seconds(30);
  int most_deaths = 10;  // in a row, of one probe
  // Workers of any probe in a row that did not even start, after which no
  // probe starts for `rest`.
  int most_failed_starts = 5;
  std::chrono::milliseconds rest = std::chrono::seconds(30);
};

// How many of the last trials ended by their workers' deaths.
int DeathsInARow(std::span<const Trial> trials);

// How long to wait before the next trial after `deaths` in a row.
std::chrono::milliseconds PauseAfter(int deaths,
                                     const WorkerPatience& patience);

// Whether workers can be started at all, over all probes. Thread-safe.
class WorkerStarts {
 public:
  using SteadyTime = std::chrono::steady_clock::time_point;

  explicit WorkerStarts(const WorkerPatience& patience) : patience_(patience) {}

  void Succeeded();
  void Failed(std::string words, SteadyTime now);

  // Unset if workers may be started at `now`; else why not, and until when.
  std::optional<std::string> WhyResting(SteadyTime now) const;

 private:
  const WorkerPatience patience_;
  mutable std::mutex mutex_;
  // All below under mutex_.
  int failures_ = 0;  // in a row
  std::string words_;
  SteadyTime rests_until_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_WORKER_PATIENCE_H_
