// Tells where the seconds of a search went: it is in one stage at each moment, so
// that the stages' seconds add up to its own. What others do meanwhile is no stage.
//
//   batch 8: start ─ batch 8: load ─ batch 8: step ─ planner ─ … ─ (end)
//   └──────────────────────── seconds in all ────────────────────────┘
//
// Each stage is a line of the log at the level debug, and so is their sum;
// tests/gpu/fast_stages.py makes a table of them.
#ifndef MEMPLAN_SERVER_JOBS_STAGE_CLOCK_H_
#define MEMPLAN_SERVER_JOBS_STAGE_CLOCK_H_

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace memplan {

// Not thread-safe.
class StageClock {
 public:
  using Now = std::function<std::chrono::steady_clock::time_point()>;

  // Begins in the stage `first`.
  StageClock(Now now, std::string first);
  // Ends the last stage.
  ~StageClock();
  StageClock(const StageClock&) = delete;
  StageClock& operator=(const StageClock&) = delete;

  // Ends the stage before; nothing if it is `stage` already.
  void Enter(std::string_view stage);

 private:
  using Time = std::chrono::steady_clock::time_point;

  Time EndStage();

  const Now now_;
  const Time begun_;
  Time stage_begun_;
  std::string stage_;
  int ended_ = 0;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_STAGE_CLOCK_H_
