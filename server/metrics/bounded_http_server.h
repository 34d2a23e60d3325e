// httplib's server for clients that nobody vouches for. httplib itself bounds
// neither a request's headers nor its body, and waits for as long as bytes trickle
// in. So the head is read here, with a bound on its bytes and on its time, and
// httplib is given that alone: no request has a body.
#ifndef MEMPLAN_SERVER_METRICS_BOUNDED_HTTP_SERVER_H_
#define MEMPLAN_SERVER_METRICS_BOUNDED_HTTP_SERVER_H_

#include <httplib.h>

#include "server/metrics/http_limits.h"

namespace memplan {

// As thread-safe as httplib's. Each connection has one request.
class BoundedHttpServer : public httplib::Server {
 public:
  explicit BoundedHttpServer(const HttpLimits& limits) : limits_(limits) {}

 private:
  bool process_and_close_socket(socket_t socket) override;

  const HttpLimits limits_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_METRICS_BOUNDED_HTTP_SERVER_H_
