// What one connection to the HTTP side may take of the daemon.
#ifndef MEMPLAN_SERVER_METRICS_HTTP_LIMITS_H_
#define MEMPLAN_SERVER_METRICS_HTTP_LIMITS_H_

#include <chrono>
#include <cstddef>

namespace memplan {

struct HttpLimits {
  // Of the request's first line and headers; more is refused with 431.
  size_t head_bytes = size_t{16} << 10;
  // For the whole of them; 408 after it.
  std::chrono::milliseconds head_patience = std::chrono::seconds(5);
  // For the whole answer to be taken; the connection is closed after it.
  std::chrono::milliseconds answer_patience = std::chrono::seconds(5);
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_METRICS_HTTP_LIMITS_H_
