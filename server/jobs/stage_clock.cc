#include "server/jobs/stage_clock.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace memplan {
namespace {

double InSeconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

StageClock::StageClock(Now now, std::string first)
    : now_(std::move(now)),
      begun_(now_()),
      stage_begun_(begun_),
      stage_(std::move(first)) {}

StageClock::~StageClock() {
  const Time ended = EndStage();
  spdlog::debug("{} stages took {:.6f} s in all", ended_,
                InSeconds(ended - begun_));
}

void StageClock::Enter(std::string_view stage) {
  if (stage == stage_) return;
  stage_begun_ = EndStage();
  stage_ = stage;
}

StageClock::Time StageClock::EndStage() {
  const Time now = now_();
  spdlog::debug("stage `{}` took {:.6f} s", stage_,
                InSeconds(now - stage_begun_));
  ++ended_;
  return now;
}

}  // namespace memplan
