// How much of one kind may be done: a bucket that a steady rate refills.
#ifndef MEMPLAN_SERVER_BASE_RATE_LIMIT_H_
#define MEMPLAN_SERVER_BASE_RATE_LIMIT_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <utility>

namespace memplan {

// Thread-safe.
class RateLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `per_second` in the long run, and as many at once.
  explicit RateLimit(double per_second) : RateLimit(per_second, per_second) {}
  // Likewise, but only `at_once` after a pause.
  RateLimit(double per_second, double at_once)
      : per_second_(per_second), at_once_(at_once), left_(at_once) {}

  // True if more may be done at `now`. What counts as several may overdraw the
  // bucket, so that none is too large for it, and is paid back by those after.
  bool Take(Time now, double count = 1) {
    const std::lock_guard lock(mutex_);
    const double seconds =
        std::chrono::duration<double>(std::max(now, last_) - last_).count();
    left_ = std::min(at_once_, left_ + seconds * per_second_);
    last_ = std::max(now, last_);
    if (left_ < 1) {
      ++refused_;
      return false;
    }
    left_ -= count;
    return true;
  }

  // How many were refused since this was last asked.
  int64_t TakeRefused() {
    const std::lock_guard lock(mutex_);
    return std::exchange(refused_, 0);
  }

 private:
  const double per_second_;
  const double at_once_;
  std::mutex mutex_;
  double left_;
  int64_t refused_ = 0;
  Time last_{};
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_BASE_RATE_LIMIT_H_
