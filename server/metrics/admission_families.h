// The metric families of admission: what is promised, what was said and why, and
// what became of it. A job is never a label: its name would multiply the series.
#ifndef MEMPLAN_SERVER_METRICS_ADMISSION_FAMILIES_H_
#define MEMPLAN_SERVER_METRICS_ADMISSION_FAMILIES_H_

#include <prometheus/metric_family.h>

#include <vector>

#include "server/admission/admission_counts.h"

namespace memplan {

void AppendAdmission(const AdmissionCounts& counts,
                     std::vector<prometheus::MetricFamily>& page);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_METRICS_ADMISSION_FAMILIES_H_
