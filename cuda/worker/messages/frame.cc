#include "cuda/worker/messages/frame.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"

namespace memplan::gpu {
namespace {

using Deadline = std::chrono::steady_clock::time_point;

constexpr size_t kLengthBytes = 4;

// Milliseconds until `deadline`, rounded up, never negative.
int PollTimeout(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  return static_cast<int>(
      std::clamp<int64_t>(left.count(), 0, std::numeric_limits<int>::max()));
}

absl::Status Gone(const char* call) {
  return absl::UnavailableError(
      absl::StrCat("the other side is gone: ", call, ": ", strerror(errno)));
}

// Waits until `socket` is ready for `events` (or broken, which the next call on
// it tells), or `wake` is readable.
absl::Status Wait(int socket, int16_t events, int wake, Deadline deadline) {
  while (true) {
    std::array<pollfd, 2> watched = {{
        {.fd = socket, .events = events, .revents = 0},
        {.fd = wake, .events = POLLIN, .revents = 0},  // −1 is passed over
    }};
    const int timeout = PollTimeout(deadline);
    const int ready = poll(watched.data(), watched.size(), timeout);
    if (ready < 0 && errno != EINTR) return Gone("poll");
    if (ready > 0 && watched[1].revents != 0) {
      return absl::CancelledError("asked to stop waiting");
    }
    if (ready > 0) return absl::OkStatus();
    if (ready == 0 && std::chrono::steady_clock::now() >= deadline) {
      return absl::DeadlineExceededError(
          "the other side did not answer by the deadline");
    }
  }
}

bool WouldBlock(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

// Fills `bytes`. `*received` counts what has come, also on error.
absl::Status ReceiveAll(int socket, char* bytes, size_t length, int wake,
                        Deadline deadline, size_t* received) {
  for (*received = 0; *received < length;) {
    MEMPLAN_RETURN_IF_ERROR(Wait(socket, POLLIN, wake, deadline));
    const ssize_t count =
        recv(socket, bytes + *received, length - *received, MSG_DONTWAIT);
    if (count == 0) return absl::UnavailableError("the other side closed");
    if (count < 0 && !WouldBlock(errno)) return Gone("recv");
    if (count > 0) *received += static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

std::array<char, kLengthBytes> EncodeLength(uint32_t length) {
  std::array<char, kLengthBytes> bytes{};
  for (size_t i = 0; i < kLengthBytes; ++i) {
    bytes[i] = static_cast<char>((length >> (8 * i)) & 0xff);
  }
  return bytes;
}

uint32_t DecodeLength(const std::array<char, kLengthBytes>& bytes) {
  uint32_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    length |= uint32_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  }
  return length;
}

// A frame was begun: its loss is another thing than a quiet end.
absl::Status WithinFrame(const absl::Status& status) {
  if (!absl::IsUnavailable(status)) return status;
  return absl::DataLossError(
      absl::StrCat("a frame was cut short: ", status.message()));
}

}  // namespace

absl::Status WriteFrame(int socket, std::string_view json, Deadline deadline,
                        int wake) {
  if (json.size() > kMaxFrameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message of ", json.size(), " bytes is longer than the ",
                     kMaxFrameBytes, " a frame may have"));
  }
  const auto length = EncodeLength(static_cast<uint32_t>(json.size()));
  std::string frame(length.data(), length.size());
  frame += json;
  for (size_t sent = 0; sent < frame.size();) {
    MEMPLAN_RETURN_IF_ERROR(Wait(socket, POLLOUT, wake, deadline));
    const ssize_t count = send(socket, frame.data() + sent, frame.size() - sent,
                               MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && !WouldBlock(errno)) return Gone("send");
    if (count > 0) sent += static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadFrame(int socket, Deadline deadline, int wake) {
  std::array<char, kLengthBytes> header{};
  size_t received = 0;
  const absl::Status begun = ReceiveAll(socket, header.data(), header.size(),
                                        wake, deadline, &received);
  if (!begun.ok()) return received > 0 ? WithinFrame(begun) : begun;
  const uint32_t length = DecodeLength(header);
  if (length > kMaxFrameBytes) {
    return absl::DataLossError(absl::StrCat("a frame of ", length,
                                            " bytes was announced; at most ",
                                            kMaxFrameBytes, " are accepted"));
  }
  std::string json(length, '\0');
  const absl::Status whole =
      ReceiveAll(socket, json.data(), length, wake, deadline, &received);
  if (!whole.ok()) return WithinFrame(whole);
  return json;
}

}  // namespace memplan::gpu
