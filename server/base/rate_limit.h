// How many lines of one kind may be logged: a bucket that a steady rate refills.
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
  explicit RateLimit(double per_second)
      : per_second_(per_second), left_(per_second) {}

  // True if one more may be done at `now`.
  bool Take(Time now) {
    const std::lock_guard lock(mutex_);
    const double seconds =
        std::chrono::duration<double>(std::max(now, last_) - last_).count();
    left_ = std::min(per_second_, left_ + seconds * per_second_);
    last_ = std::max(now, last_);
    if (left_ < 1) {
      ++refused_;
      return false;
    }
    left_ -= 1;
    return true;
  }

  // How many were refused since this was last asked.
  int64_t TakeRefused() {
    const std::lock_guard lock(mutex_);
    return std::exchange(refused_, 0);
  }

 private:
  const double per_second_;
  std::mutex mutex_;
  double left_;
  int64_t refused_ = 0;
  Time last_{};
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_BASE_RATE_LIMIT_H_
