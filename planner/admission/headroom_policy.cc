#include "planner/admission/headroom_policy.h"

#include <algorithm>
#include <cstddef>

namespace memplan {
namespace {

constexpr size_t kRemembered = 100;
constexpr Bytes kStep = MiB(64);

}  // namespace

void HeadroomPolicy::Learn(const Outcome& outcome) {
  Bytes lacked = std::max(outcome.peak - outcome.promised, Bytes(0));
  if (outcome.ran_out_of_memory) {
    lacked = std::max(lacked, Bytes(outcome.promised.count() / 10));
  }
  lacked_.push_back(lacked);
  if (lacked_.size() > kRemembered) lacked_.pop_front();
}

Bytes HeadroomPolicy::Suggestion() const {
  if (lacked_.empty()) return Bytes(0);
  const int64_t worst =
      std::max_element(lacked_.begin(), lacked_.end())->count();
  const int64_t steps = (worst + kStep.count() - 1) / kStep.count();
  return kStep * steps;
}

}  // namespace memplan
