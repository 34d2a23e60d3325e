#include "server/metrics/search_families.h"

#include <prometheus/client_metric.h>
#include <prometheus/metric_type.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace memplan {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr std::pair<FallBackKind, const char*> kFallBacks[] = {
    {FallBackKind::kOtherFailure, "other_failure"},
    {FallBackKind::kNotRecorded, "not_recorded"},
    {FallBackKind::kNotPredicted, "not_predicted"},
    {FallBackKind::kNotVerified, "not_verified"}};

void AddCount(MetricFamily& family, const char* label, const char* word,
              int64_t count) {
  ClientMetric metric;
  if (label != nullptr) metric.label = {{label, word}};
  metric.counter.value = static_cast<double>(count);
  metric.gauge.value = static_cast<double>(count);
  family.metric.push_back(std::move(metric));
}

template <typename Key>
int64_t CountOf(const std::map<Key, int64_t>& counts, Key key) {
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : found->second;
}

MetricFamily Single(const char* name, const char* help, MetricType type,
                    int64_t count) {
  MetricFamily family = {name, help, type, {}};
  AddCount(family, nullptr, "", count);
  return family;
}

}  // namespace

std::vector<MetricFamily> SearchFamilies(const JobCounts& jobs,
                                         const CallResultCounts& calls) {
  MetricFamily fall_backs = {
      "memplan_prediction_fall_backs_total",
      "Searches that were bisected since a prediction did not hold, by reason.",
      MetricType::Counter,
      {}};
  for (const auto& [kind, word] : kFallBacks) {
    AddCount(fall_backs, "reason", word, CountOf(jobs.fall_backs, kind));
  }
  MetricFamily looked_up = {
      "memplan_call_results_total",
      "Operator calls whose results were looked for in the store, by outcome.",
      MetricType::Counter,
      {}};
  AddCount(looked_up, "outcome", "hit", calls.hits);
  AddCount(looked_up, "outcome", "miss", calls.misses);
  return {Single("memplan_predictions_total",
                 "Searches that were answered by a prediction.",
                 MetricType::Counter, jobs.predictions_verified),
          std::move(fall_backs), std::move(looked_up),
          Single("memplan_call_results_kept",
                 "Operator calls whose results the store keeps.",
                 MetricType::Gauge, calls.kept),
          Single("memplan_call_results_dropped_total",
                 "Kept results that made room for others.", MetricType::Counter,
                 calls.dropped)};
}

}  // namespace memplan
