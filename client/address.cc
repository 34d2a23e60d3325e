#include "client/address.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace memplan {
namespace {

constexpr size_t kMaxSocketPath = sizeof(sockaddr_un::sun_path) - 1;

DaemonAddress SocketAddress(std::string path) {
  return {.target = absl::StrCat("unix:", path),
          .socket_path = std::move(path)};
}

absl::StatusOr<DaemonAddress> CheckedSocketAddress(const std::string& path) {
  if (path.empty()) {
    return absl::InvalidArgumentError(
        "address `unix:` names no socket; write unix:PATH");
  }
  if (path.size() > kMaxSocketPath) {
    return absl::InvalidArgumentError(absl::StrCat(
        "address `", path, "` is a path of ", path.size(),
        " bytes, but a socket's path has at most ", kMaxSocketPath));
  }
  return SocketAddress(path);
}

}  // namespace

absl::StatusOr<DaemonAddress> ParseAddress(const std::string& text) {
  if (text.starts_with("unix:///")) {
    return CheckedSocketAddress(text.substr(sizeof("unix://") - 1));
  }
  if (text.starts_with("unix:")) {
    return CheckedSocketAddress(text.substr(sizeof("unix:") - 1));
  }
  if (text.starts_with('/')) return CheckedSocketAddress(text);
  const size_t colon = text.rfind(':');
  int port = 0;
  if (colon == std::string::npos || colon == 0 ||
      !absl::SimpleAtoi(text.substr(colon + 1), &port) || port < 1 ||
      port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("address `", text,
                     "` is neither unix:PATH nor HOST:PORT (port 1 to 65535)"));
  }
  return DaemonAddress{.target = text, .socket_path = {}};
}

std::vector<DaemonAddress> DefaultAddresses(bool is_root,
                                            const std::string& runtime_folder) {
  std::vector<DaemonAddress> addresses;
  if (!is_root && !runtime_folder.empty()) {
    addresses.push_back(
        SocketAddress(absl::StrCat(runtime_folder, "/memplan/memplan.sock")));
  }
  addresses.push_back(SocketAddress("/run/memplan/memplan.sock"));
  return addresses;
}

absl::Status CheckAnswers(const DaemonAddress& address) {
  if (address.socket_path.empty()) return absl::OkStatus();
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  if (address.socket_path.size() > kMaxSocketPath) {
    return absl::UnavailableError(absl::StrCat(
        "no daemon answers at ", address.target, ": the path is too long"));
  }
  address.socket_path.copy(name.sun_path, kMaxSocketPath);
  const int socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_fd < 0) {
    return absl::ErrnoToStatus(errno, "cannot make a socket");
  }
  absl::Cleanup close_socket = [socket_fd] { close(socket_fd); };
  if (connect(socket_fd, reinterpret_cast<const sockaddr*>(&name),
              sizeof(name)) == 0) {
    return absl::OkStatus();
  }
  if (errno == EACCES || errno == EPERM) {
    return absl::PermissionDeniedError(
        absl::StrCat("you may not connect to the daemon at ", address.target,
                     "; ask its owner to let you into the socket's group"));
  }
  return absl::UnavailableError(absl::StrCat(
      "no daemon answers at ", address.target, ": ", std::strerror(errno)));
}

}  // namespace memplan
