#include "server/services/call_gate.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/reason.h"

namespace memplan {
namespace {

// A call with several jobs costs less than so many calls: eight of its jobs are
// about one (tests/bench/admission_bench).
constexpr int64_t kJobsOfOneCall = 8;
// What may come at once after a pause, in seconds of the rate: enough for a burst
// of a scheduler, and answered before anybody notices.
constexpr double kBurstSeconds = 0.05;

}  // namespace

CallGate::CallGate(int64_t most_per_second)
    : refusal_(WithReason(
          absl::ResourceExhaustedError(absl::StrCat(
              "more than ", most_per_second,
              " checks a second are asked of the daemon "
              "(max_checks_per_second); try again in a second, ask for many "
              "jobs in one BatchCheck, or wait with WaitForMemory")),
          "TOO_MANY_CHECKS")) {
  if (most_per_second == 0) return;
  const auto rate = static_cast<double>(most_per_second);
  limit_.emplace(rate, std::max(1.0, rate * kBurstSeconds));
}

absl::Status CallGate::Enter(int64_t jobs, RateLimit::Time now) {
  const int64_t calls =
      std::max<int64_t>(1, (jobs + kJobsOfOneCall - 1) / kJobsOfOneCall);
  if (!limit_ || limit_->Take(now, static_cast<double>(calls))) {
    return absl::OkStatus();
  }
  return refusal_;
}

}  // namespace memplan
