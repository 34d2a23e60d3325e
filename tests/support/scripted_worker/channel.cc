#include "tests/support/scripted_worker/channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda/worker/messages/frame.h"
#include "cuda/worker/messages/messages.h"

namespace memplan::testing {
namespace {

constexpr int kExitBrokenChannel = 4;

std::chrono::steady_clock::time_point Deadline() {
  return std::chrono::steady_clock::now() + std::chrono::hours(1);
}

// Ends without a word when the daemon has gone, as the real worker does.
[[noreturn]] void Give(const absl::Status& status) {
  if (absl::IsUnavailable(status)) _exit(0);
  std::cerr << "scripted worker: " << status << std::endl;
  _exit(kExitBrokenChannel);
}

gpu::DaemonMessage Receive() {
  const absl::StatusOr<std::string> json =
      gpu::ReadFrame(gpu::kChannelDescriptor, Deadline());
  if (!json.ok()) Give(json.status());
  absl::StatusOr<gpu::DaemonMessage> message = gpu::DecodeDaemonMessage(*json);
  if (!message.ok()) Give(message.status());
  return *std::move(message);
}

void SendRaw(std::string_view bytes) {
  if (send(gpu::kChannelDescriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL) <
      0) {
    Give(absl::UnavailableError("the channel is closed"));
  }
}

}  // namespace

void EndWithTheDaemon() {
  static bool watches = false;
  if (std::exchange(watches, true)) return;
  std::thread([] {
    pollfd channel = {
        .fd = gpu::kChannelDescriptor, .events = POLLRDHUP, .revents = 0};
    while (poll(&channel, 1, -1) < 0 && errno == EINTR) {
    }
    _exit(0);
  }).detach();
}

void Send(const gpu::WorkerMessage& message) { SendText(gpu::Encode(message)); }

void SendHello(int protocol_version) {
  gpu::Hello hello;
  hello.protocol_version = protocol_version;
  hello.pid = getpid();
  hello.torch_version = "scripted";
  Send(hello);
}

gpu::DaemonMessage ReceiveOrder() { return Receive(); }

void WaitForProceed() {
  if (!std::holds_alternative<gpu::Proceed>(Receive())) {
    Give(absl::DataLossError("expected proceed"));
  }
}

void SendText(std::string_view text) {
  const absl::Status sent =
      gpu::WriteFrame(gpu::kChannelDescriptor, text, Deadline());
  if (!sent.ok()) Give(sent);
}

void SendHalfAFrame() {
  SendRaw(
      std::string_view("\x14\0\0\0{\"type\":", 12));  // 20 announced, 8 sent
  shutdown(gpu::kChannelDescriptor, SHUT_WR);
}

void SendFrameTooLong() { SendRaw(std::string_view("\xff\xff\xff\x7f{", 5)); }

}  // namespace memplan::testing
