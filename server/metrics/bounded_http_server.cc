#include "server/metrics/bounded_http_server.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/descriptor.h"

namespace memplan {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Deadline = SteadyClock::time_point;

constexpr std::string_view kEndOfHead = "\r\n\r\n";

// False once the deadline is over.
bool WaitFor(short events, socket_t socket, Deadline deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        deadline - SteadyClock::now());
    if (left.count() <= 0) return false;
    pollfd waited{socket, events, 0};
    const int ready = poll(&waited, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// True if the call that has just failed is to be made again.
bool IsTransient() {
  return errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK;
}

bool SendAll(socket_t socket, std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    if (!WaitFor(POLLOUT, socket, deadline)) return false;
    const ssize_t sent =
        send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (!IsTransient()) {
      return false;
    }
  }
  return true;
}

enum class HeadEnd { kWhole, kTooLong, kTooLate, kGone };

struct Head {
  HeadEnd end = HeadEnd::kGone;
  std::string bytes;  // with the empty line that ends it
};

Head ReadHead(socket_t socket, const HttpLimits& limits) {
  const Deadline deadline = SteadyClock::now() + limits.head_patience;
  std::string bytes(limits.head_bytes, '\0');
  size_t count = 0;
  while (count < bytes.size()) {
    if (!WaitFor(POLLIN, socket, deadline)) return {HeadEnd::kTooLate, {}};
    const ssize_t came =
        recv(socket, &bytes[count], bytes.size() - count, MSG_DONTWAIT);
    if (came < 0 && IsTransient()) continue;
    if (came <= 0) return {HeadEnd::kGone, {}};
    // The end may lie across two pieces.
    const size_t from = count - std::min(count, kEndOfHead.size() - 1);
    count += static_cast<size_t>(came);
    const size_t end =
        std::string_view(bytes).substr(0, count).find(kEndOfHead, from);
    if (end == std::string_view::npos) continue;
    bytes.resize(end + kEndOfHead.size());
    return {HeadEnd::kWhole, std::move(bytes)};
  }
  return {HeadEnd::kTooLong, {}};
}

// A head that was read, and the way back to who sent it.
class HeadStream : public httplib::Stream {
 public:
  HeadStream(socket_t socket, std::string_view head, Deadline deadline)
      : socket_(socket), head_(head), deadline_(deadline) {}

  bool is_readable() const override { return true; }
  bool is_writable() const override {
    return WaitFor(POLLOUT, socket_, deadline_);
  }
  ssize_t read(char* bytes, size_t size) override {
    const size_t count = head_.copy(bytes, size);
    head_.remove_prefix(count);
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* bytes, size_t size) override {
    return SendAll(socket_, {bytes, size}, deadline_)
               ? static_cast<ssize_t>(size)
               : -1;
  }
  // No page asks who calls.
  void get_remote_ip_and_port(std::string& /*ip*/, int& port) const override {
    port = 0;
  }
  void get_local_ip_and_port(std::string& /*ip*/, int& port) const override {
    port = 0;
  }
  socket_t socket() const override { return socket_; }

 private:
  const socket_t socket_;
  std::string_view head_;  // what is left of it
  const Deadline deadline_;
};

std::string Refusal(const char* status, const std::string& words) {
  return absl::StrCat("HTTP/1.1 ", status,
                      "\r\nConnection: close\r\nContent-Type: text/plain; "
                      "charset=utf-8\r\nContent-Length: ",
                      words.size(), "\r\n\r\n", words);
}

std::string TooLong(const HttpLimits& limits) {
  return Refusal(
      "431 Request Header Fields Too Large",
      absl::StrCat("the request's first line and headers are above ",
                   limits.head_bytes, " bytes; send fewer or shorter ones\n"));
}

std::string TooLate(const HttpLimits& limits) {
  return Refusal(
      "408 Request Timeout",
      absl::StrCat("the request's headers did not end within ",
                   limits.head_patience.count(), " ms; send them at once\n"));
}

}  // namespace

bool BoundedHttpServer::process_and_close_socket(socket_t socket) {
  const Descriptor closed_at_end(socket);
  const Head head = ReadHead(socket, limits_);
  const Deadline deadline = SteadyClock::now() + limits_.answer_patience;
  bool answered = false;
  switch (head.end) {
    case HeadEnd::kWhole: {
      HeadStream stream(socket, head.bytes, deadline);
      bool client_closes = true;
      answered = process_request(stream, /*close_connection=*/true,
                                 client_closes, nullptr);
      break;
    }
    case HeadEnd::kTooLong:
      answered = SendAll(socket, TooLong(limits_), deadline);
      break;
    case HeadEnd::kTooLate:
      answered = SendAll(socket, TooLate(limits_), deadline);
      break;
    case HeadEnd::kGone:
      break;
  }
  (void)shutdown(socket, SHUT_RDWR);
  return answered;
}

}  // namespace memplan
