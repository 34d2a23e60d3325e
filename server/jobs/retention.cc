#include "server/jobs/retention.h"

#include <algorithm>
#include <cstddef>

namespace memplan {
namespace {

// Every ended probe has an end; one of a damaged record counts from its
// creation.
Time EndOf(const Probe& probe) {
  return probe.end_time.value_or(probe.create_time);
}

}  // namespace

std::vector<std::string> ProbesToForget(
    std::span<const std::shared_ptr<const Probe>> probes,
    const Retention& retention, Time now) {
  std::vector<std::shared_ptr<const Probe>> ended;
  for (const auto& probe : probes) {
    if (HasEnded(probe->state)) ended.push_back(probe);
  }
  std::sort(ended.begin(), ended.end(),
            [](const auto& a, const auto& b) { return EndOf(*a) > EndOf(*b); });
  std::vector<std::string> forgotten;
  for (size_t i = 0; i < ended.size(); ++i) {
    const bool beyond = i >= static_cast<size_t>(retention.keep_probes);
    const bool aged = now - EndOf(*ended[i]) > retention.keep_probes_for;
    if (beyond || aged) forgotten.push_back(ended[i]->id);
  }
  return forgotten;
}

}  // namespace memplan
