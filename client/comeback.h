// Patience with a daemon that went away: pauses that double between tries, and an
// end to them.
#ifndef MEMPLAN_CLIENT_COMEBACK_H_
#define MEMPLAN_CLIENT_COMEBACK_H_

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>

#include "absl/status/status.h"

namespace memplan {

// Of one call that is made again and again. Not thread-safe.
class Comeback {
 public:
  // `on_lost` (may be empty) is told when the daemon goes away, once each time.
  Comeback(std::chrono::milliseconds patience,
           std::function<void(const absl::Status&)> on_lost,
           std::stop_token stop);

  // The daemon has answered. True if it had gone away.
  bool Heard();

  // Waits before another try after a call that failed with `status`. False if
  // there is to be none: another error than kUnavailable, patience at its end, or
  // stopped.
  bool Await(const absl::Status& status);

 private:
  const std::chrono::milliseconds patience_;
  const std::function<void(const absl::Status&)> on_lost_;
  const std::stop_token stop_;
  std::optional<std::chrono::steady_clock::time_point> lost_since_;
  std::chrono::milliseconds pause_;
};

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_COMEBACK_H_
