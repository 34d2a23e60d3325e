#include "server/program/host_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace memplan {
namespace {

constexpr int kMaxPort = 65535;
constexpr uint32_t kLoopbackNetwork = 127;  // the highest byte

}  // namespace

absl::StatusOr<HostPort> ParseHostPort(const std::string& text) {
  const size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon);
  const bool bracketed =
      host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const bool has_colon = host.find(':') != std::string::npos;
  int port = 0;
  if (colon == std::string::npos || host.empty() || has_colon != bracketed ||
      !absl::SimpleAtoi(text.substr(colon + 1), &port) || port < 0 ||
      port > kMaxPort) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text,
                     "\" is no address to listen on; write HOST:PORT, such as "
                     "127.0.0.1:7070 or [::1]:7070 (port 0 lets the system "
                     "choose), or none"));
  }
  return HostPort{.host = std::move(host), .port = port};
}

std::string FormatHostPort(const HostPort& address) {
  const bool is_ipv6 = address.host.find(':') != std::string::npos;
  return is_ipv6 ? absl::StrCat("[", address.host, "]:", address.port)
                 : absl::StrCat(address.host, ":", address.port);
}

bool IsLoopback(const std::string& host) {
  in_addr ipv4 = {};
  in6_addr ipv6 = {};
  if (inet_pton(AF_INET, host.c_str(), &ipv4) == 1) {
    return ntohl(ipv4.s_addr) >> 24 == kLoopbackNetwork;
  }
  if (inet_pton(AF_INET6, host.c_str(), &ipv6) == 1) {
    return IN6_IS_ADDR_LOOPBACK(&ipv6);
  }
  return host == "localhost";
}

}  // namespace memplan
