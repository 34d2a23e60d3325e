// How many calls that ask for a verdict are answered a second. What comes beyond
// is refused at once, before anything is looked at, so that those that are let in
// are answered as promptly as ever. Calls that give memory back, or keep what was
// promised, pass no gate: under load they matter most.
#ifndef MEMPLAN_SERVER_SERVICES_CALL_GATE_H_
#define MEMPLAN_SERVER_SERVICES_CALL_GATE_H_

#include <chrono>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "server/base/rate_limit.h"

namespace memplan {

// Thread-safe.
class CallGate {
 public:
  // 0: no bound.
  explicit CallGate(int64_t most_per_second);

  // Lets a call in that judges `jobs` jobs. kResourceExhausted (TOO_MANY_CHECKS)
  // if it has to come back later.
  absl::Status Enter(int64_t jobs = 1) {
    return Enter(jobs, std::chrono::steady_clock::now());
  }
  absl::Status Enter(int64_t jobs, RateLimit::Time now);

 private:
  const absl::Status refusal_;  // made once: under load many get it
  std::optional<RateLimit> limit_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_CALL_GATE_H_
