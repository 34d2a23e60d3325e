// The HTTP side: `/metrics` for Prometheus and `/healthz`, on threads of its
// own. Plain HTTP: bind it to loopback and let a proxy do the rest.
#ifndef MEMPLAN_SERVER_METRICS_HTTP_ENDPOINT_H_
#define MEMPLAN_SERVER_METRICS_HTTP_ENDPOINT_H_

#include <prometheus/metric_family.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/metrics/http_limits.h"

namespace memplan {

// The text of Prometheus' exposition format, version 0.0.4.
std::string MetricsPage(const std::vector<prometheus::MetricFamily>& families);

// Thread-safe. The destructor ends the requests in progress and the threads.
class HttpEndpoint {
 public:
  // What the pages show; called on the endpoint's threads, several at once.
  struct Pages {
    std::function<std::vector<prometheus::MetricFamily>()> metrics;
    std::function<bool()> healthy;
  };

  // Listens on `host`:`port` (0 chooses one). Returns kUnavailable, with what to
  // do, if that cannot be had.
  static absl::StatusOr<std::unique_ptr<HttpEndpoint>> Start(
      const std::string& host, int port, Pages pages,
      const HttpLimits& limits = {});
  virtual ~HttpEndpoint() = default;

  virtual int port() const = 0;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_METRICS_HTTP_ENDPOINT_H_
