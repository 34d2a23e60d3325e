#include "server/metrics/admission_families.h"

#include <prometheus/client_metric.h>
#include <prometheus/metric_type.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "planner/admission/reservation.h"

namespace memplan {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using SeriesLabels = std::vector<ClientMetric::Label>;

constexpr std::array<const char*, kVerdicts> kVerdictWords = {
    "fits", "not_now", "never", "unknown"};
// In the order of VerdictReason, with the verdict that each stands with unless
// the caller wants something else to be said.
constexpr std::array<std::pair<const char*, Verdict>, kVerdictReasons>
    kReasonWords = {{{"room", Verdict::kFits},
                     {"no_room", Verdict::kNotNow},
                     {"held_for_waiter", Verdict::kNotNow},
                     {"above_device", Verdict::kNever},
                     {"no_plan", Verdict::kUnknown},
                     {"plan_ambiguous", Verdict::kUnknown},
                     {"batch_not_measured", Verdict::kUnknown},
                     {"snapshot_stale", Verdict::kUnknown},
                     {"device_lost", Verdict::kUnknown},
                     {"memory_not_told", Verdict::kUnknown},
                     {"no_device", Verdict::kUnknown},
                     {"partitioned", Verdict::kNever}}};

void AddSeries(MetricFamily& family, SeriesLabels labels, int64_t value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  (family.type == MetricType::Counter ? metric.counter.value
                                      : metric.gauge.value) =
      static_cast<double>(value);
  family.metric.push_back(std::move(metric));
}

MetricFamily One(const char* name, const char* help, MetricType type,
                 int64_t value) {
  MetricFamily family = {name, help, type, {}};
  AddSeries(family, {}, value);
  return family;
}

void AppendPromises(const AdmissionCounts& counts,
                    std::vector<MetricFamily>& page) {
  MetricFamily live = {"memplan_reservations",
                       "Live reservations, by state.",
                       MetricType::Gauge,
                       {}};
  MetricFamily reserved = {"memplan_reserved_bytes",
                           "What live reservations were promised.",
                           MetricType::Gauge,
                           {}};
  MetricFamily adopted = {"memplan_adopted_bytes",
                          "What the processes of adopted reservations use.",
                          MetricType::Gauge,
                          {}};
  for (const DeviceAdmission& device : counts.devices) {
    const std::string& id = device.device_id;
    AddSeries(live, {{"device", id}, {"state", "promised"}},
              device.sums.waiting);
    AddSeries(live, {{"device", id}, {"state", "adopted"}},
              device.sums.adopted);
    AddSeries(reserved, {{"device", id}}, device.sums.promised.count());
    AddSeries(adopted, {{"device", id}}, device.sums.measured.count());
  }
  page.push_back(std::move(live));
  page.push_back(std::move(reserved));
  page.push_back(std::move(adopted));
}

MetricFamily Verdicts(const AdmissionCounts& counts) {
  MetricFamily family = {"memplan_admission_verdicts_total",
                         "Jobs judged since start, by verdict and reason.",
                         MetricType::Counter,
                         {}};
  for (size_t verdict = 0; verdict < kVerdicts; ++verdict) {
    for (size_t reason = 0; reason < kVerdictReasons; ++reason) {
      const auto& [word, usual] = kReasonWords[reason];
      const int64_t count = counts.verdicts[verdict][reason];
      if (count == 0 && static_cast<size_t>(usual) != verdict) continue;
      AddSeries(family, {{"verdict", kVerdictWords[verdict]}, {"reason", word}},
                count);
    }
  }
  return family;
}

MetricFamily Ended(const AdmissionCounts& counts) {
  MetricFamily family = {"memplan_reservations_ended_total",
                         "Reservations ended since start, by why.",
                         MetricType::Counter,
                         {}};
  const std::pair<const char*, ReservationState> reasons[] = {
      {"released", ReservationState::kReleased},
      {"expired", ReservationState::kExpired},
      {"device_gone", ReservationState::kDeviceGone}};
  for (const auto& [word, state] : reasons) {
    AddSeries(family, {{"reason", word}},
              counts.ended[static_cast<size_t>(state)]);
  }
  return family;
}

MetricFamily Ratios(const RatioCounts& ratios) {
  ClientMetric metric;
  uint64_t below = 0;
  for (size_t i = 0; i < ratios.by_bucket.size(); ++i) {
    below += static_cast<uint64_t>(ratios.by_bucket[i]);
    metric.histogram.bucket.push_back(
        {below, i < kRatioBuckets.size()
                    ? kRatioBuckets[i]
                    : std::numeric_limits<double>::infinity()});
  }
  metric.histogram.sample_count = below;
  metric.histogram.sample_sum = ratios.sum;
  return {"memplan_observed_to_estimate_ratio",
          "Peak use of adopted reservations over what was expected, at their "
          "end.",
          MetricType::Histogram,
          {metric}};
}

}  // namespace

void AppendAdmission(const AdmissionCounts& counts,
                     std::vector<MetricFamily>& page) {
  AppendPromises(counts, page);
  page.push_back(Verdicts(counts));
  page.push_back(Ended(counts));
  page.push_back(One("memplan_reservation_waiters",
                     "Calls that wait for memory.", MetricType::Gauge,
                     counts.waiters));
  page.push_back(One("memplan_false_admits_total",
                     "Admitted jobs that were reported to have run out of "
                     "memory.",
                     MetricType::Counter, counts.false_admits));
  page.push_back(Ratios(counts.ratios));
}

}  // namespace memplan
