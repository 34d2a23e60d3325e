#include "server/metrics/call_families.h"

#include <prometheus/client_metric.h>
#include <prometheus/metric_type.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace memplan {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

ClientMetric OfMethod(const CallMethod& method) {
  ClientMetric metric;
  metric.label = {{"service", method.service}, {"method", method.method}};
  return metric;
}

ClientMetric Histogram(const MethodCalls& calls) {
  ClientMetric metric = OfMethod(calls.method);
  uint64_t below = 0;
  for (size_t i = 0; i < calls.by_bucket.size(); ++i) {
    below += static_cast<uint64_t>(calls.by_bucket[i]);
    const double bound = i < kCallBucketSeconds.size()
                             ? kCallBucketSeconds[i]
                             : std::numeric_limits<double>::infinity();
    metric.histogram.bucket.push_back({below, bound});
  }
  metric.histogram.sample_count = below;
  metric.histogram.sample_sum = calls.seconds;
  return metric;
}

}  // namespace

std::vector<MetricFamily> CallFamilies(const std::vector<MethodCalls>& calls) {
  MetricFamily ended = {"memplan_rpcs_total",
                        "Calls that have ended, by method and gRPC code.",
                        MetricType::Counter,
                        {}};
  MetricFamily in_progress = {"memplan_rpcs_in_progress",
                              "Calls in progress, by method.",
                              MetricType::Gauge,
                              {}};
  MetricFamily seconds = {
      "memplan_rpc_seconds",
      "How long unary calls took in the daemon, from their arrival to their "
      "status; streams last as long as their client wants.",
      MetricType::Histogram,
      {}};
  for (const MethodCalls& method : calls) {
    ClientMetric now = OfMethod(method.method);
    now.gauge.value = static_cast<double>(method.in_progress);
    in_progress.metric.push_back(std::move(now));
    for (int code = 0; code < kCallCodes; ++code) {
      if (method.ended_by_code[code] == 0) continue;
      ClientMetric count = OfMethod(method.method);
      count.label.push_back({"code", std::string(kCallCodeWords[code])});
      count.counter.value = static_cast<double>(method.ended_by_code[code]);
      ended.metric.push_back(std::move(count));
    }
    if (method.method.is_unary) seconds.metric.push_back(Histogram(method));
  }
  return {std::move(ended), std::move(in_progress), std::move(seconds)};
}

}  // namespace memplan
