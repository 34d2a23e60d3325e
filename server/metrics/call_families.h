// The metric families of the daemon's calls.
#ifndef MEMPLAN_SERVER_METRICS_CALL_FAMILIES_H_
#define MEMPLAN_SERVER_METRICS_CALL_FAMILIES_H_

#include <prometheus/metric_family.h>

#include <vector>

#include "server/base/call_counts.h"

namespace memplan {

// Calls by method and code, in progress, and how long unary ones took. A code
// that a method never ended with has no series.
std::vector<prometheus::MetricFamily> CallFamilies(
    const std::vector<MethodCalls>& calls);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_METRICS_CALL_FAMILIES_H_
