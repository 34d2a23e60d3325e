#include "server/jobs/worker_patience.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace memplan {

int DeathsInARow(std::span<const Trial> trials) {
  int deaths = 0;
  for (auto trial = trials.rbegin(); trial != trials.rend(); ++trial) {
    if (trial->outcome != TrialOutcome::kWorkerDied) break;
    ++deaths;
  }
  return deaths;
}

std::chrono::milliseconds PauseAfter(int deaths,
                                     const WorkerPatience& patience) {
  if (deaths <= 0) return std::chrono::milliseconds(0);
  std::chrono::milliseconds pause = patience.first_pause;
  for (int i = 1; i < deaths && pause < patience.longest_pause; ++i) pause *= 2;
  return std::min(pause, patience.longest_pause);
}

void WorkerStarts::Succeeded() {
  const std::lock_guard lock(mutex_);
  failures_ = 0;
}

void WorkerStarts::Failed(std::string words, SteadyTime now) {
  const std::lock_guard lock(mutex_);
  ++failures_;
  words_ = std::move(words);
  rests_until_ = now + patience_.rest;
}

std::optional<std::string> WorkerStarts::WhyResting(SteadyTime now) const {
  const std::lock_guard lock(mutex_);
  if (failures_ < patience_.most_failed_starts || now >= rests_until_) {
    return std::nullopt;
  }
  return absl::StrCat(
      failures_, " workers in a row could not be started, so that none is for ",
      std::chrono::ceil<std::chrono::seconds>(patience_.rest).count(),
      " s after each failure; the last one: ", words_);
}

}  // namespace memplan
