// How the certificate does that TCP is served with, as values.
#ifndef MEMPLAN_SERVER_BASE_TLS_STATUS_H_
#define MEMPLAN_SERVER_BASE_TLS_STATUS_H_

#include <chrono>
#include <cstdint>
#include <string>

namespace memplan {

struct TlsStatus {
  // Of the certificate that is served, or the first in its chain.
  std::chrono::system_clock::time_point expiry;
  // How often its files were found to be of no use since the start, and why they
  // are now; empty if they are not.
  int64_t failures = 0;
  std::string failure;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_BASE_TLS_STATUS_H_
