// The families about how searches find their answers.
#ifndef MEMPLAN_SERVER_METRICS_SEARCH_FAMILIES_H_
#define MEMPLAN_SERVER_METRICS_SEARCH_FAMILIES_H_

#include <prometheus/metric_family.h>

#include <vector>

#include "server/jobs/probe_jobs.h"
#include "server/store/call_results.h"

namespace memplan {

std::vector<prometheus::MetricFamily> SearchFamilies(
    const JobCounts& jobs, const CallResultCounts& calls);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_METRICS_SEARCH_FAMILIES_H_
