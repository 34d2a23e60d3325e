// Addresses to listen on, as HOST:PORT. Pure.
#ifndef MEMPLAN_SERVER_PROGRAM_HOST_PORT_H_
#define MEMPLAN_SERVER_PROGRAM_HOST_PORT_H_

#include <string>

#include "absl/status/statusor.h"

namespace memplan {

struct HostPort {
  std::string host;  // without the brackets of an IPv6 address
  int port = 0;      // 0: the system chooses
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

// Reads `127.0.0.1:7070`, `localhost:0` or `[::1]:7070`. Returns
// kInvalidArgument, with what would be accepted, for anything else.
absl::StatusOr<HostPort> ParseHostPort(const std::string& text);

// `127.0.0.1:7070` or `[::1]:7070`.
std::string FormatHostPort(const HostPort& address);

// True if only this machine can reach the host: 127.0.0.0/8, ::1, localhost.
bool IsLoopback(const std::string& host);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_PROGRAM_HOST_PORT_H_
