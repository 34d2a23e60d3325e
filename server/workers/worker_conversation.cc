#include "server/workers/worker_conversation.h"

#include <sys/socket.h>

#include <string_view>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cuda/worker/messages/frame.h"

namespace memplan {
namespace {

using Deadline = std::chrono::steady_clock::time_point;

constexpr int kMaxMessages = 1000;
// What a scripted worker says it has for a libtorch.
constexpr std::string_view kScriptedVersion = "scripted";

// True if the other side has closed and nothing is left to read.
bool HasClosed(int socket) {
  char byte = 0;
  return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

class Conversation {
 public:
  Conversation(int socket, const TalkOrder& order)
      : socket_(socket), order_(order) {}

  Talk Run() {
    if (!Greet()) return talk_;
    if (!Send(order_.request)) return talk_;
    if (order_.request.sandbox && !HearOfSandbox()) return talk_;
    while (!talk_.report) {
      const auto message = Receive(order_.deadline);
      if (!message || !Follow(*message)) return talk_;
    }
    talk_.end = TalkEnd::kReported;
    return talk_;
  }

 private:
  bool Greet() {
    const auto message =
        Receive(std::min(order_.hello_deadline, order_.deadline));
    if (!message) return false;
    const auto* hello = std::get_if<gpu::Hello>(&*message);
    if (hello == nullptr) {
      return End(TalkEnd::kNonsense, "its first message was no hello");
    }
    talk_.said_hello = true;
    talk_.torch_version = hello->torch_version;
    if (hello->protocol_version == gpu::kProtocolVersion) return MayRun();
    return End(TalkEnd::kOtherVersion,
               absl::StrCat("it speaks version ", hello->protocol_version,
                            " of the protocol, this daemon version ",
                            gpu::kProtocolVersion));
  }

  bool MayRun() {
    if (!order_.scripted_gpu || talk_.torch_version == kScriptedVersion) {
      return true;
    }
    return End(TalkEnd::kRealWorker,
               absl::StrCat("it is a real worker, with libtorch ",
                            talk_.torch_version));
  }

  // Nothing that a worker says is worth more than this: it is one of ours until
  // it opens the model.
  bool HearOfSandbox() {
    const auto message = Receive(order_.deadline);
    if (!message) return false;
    const auto* sandboxed = std::get_if<gpu::Sandboxed>(&*message);
    if (sandboxed == nullptr) {
      return End(TalkEnd::kNonsense, "it did not tell of its sandbox first");
    }
    talk_.sandbox = sandboxed->layers;
    const auto missing = gpu::CoreLayersMissing(talk_.sandbox);
    const auto& asked = order_.request.sandbox;
    if (!asked || !asked->required || missing.empty()) return true;
    return End(TalkEnd::kNotSandboxed, absl::StrJoin(missing, "; "));
  }

  // Takes one message after the hello. False if the talk has ended.
  bool Follow(const gpu::WorkerMessage& message) {
    if (const auto* progress = std::get_if<gpu::Progress>(&message)) {
      talk_.phase = progress->phase;
      order_.on_progress(*progress);
      return true;
    }
    if (const auto* settled = std::get_if<gpu::Settled>(&message)) {
      return Settle(*settled);
    }
    if (const auto* report = std::get_if<gpu::Report>(&message)) {
      return TakeReport(*report);
    }
    return End(TalkEnd::kNonsense, "it said something a second time");
  }

  bool Settle(const gpu::Settled& settled) {
    if (settled_) return End(TalkEnd::kNonsense, "it settled twice");
    settled_ = true;
    talk_.phase = "report";
    order_.on_progress({talk_.phase, order_.request.steps});
    talk_.context = order_.read_context(settled);
    return Send(gpu::Proceed{});
  }

  bool TakeReport(const gpu::Report& report) {
    const auto steps = static_cast<int>(report.steps.size());
    const int ordered = order_.request.steps;
    const bool ran = report.end == gpu::EndKind::kRan;
    if (ran ? steps != ordered : steps > ordered) {
      return End(TalkEnd::kNonsense,
                 absl::StrCat("it reported ", steps, " steps of ", ordered));
    }
    talk_.report = report;
    return true;
  }

  // The next message, or nothing if the talk has ended.
  std::optional<gpu::WorkerMessage> Receive(Deadline deadline) {
    if (++messages_ > kMaxMessages) {
      End(TalkEnd::kNonsense,
          absl::StrCat("it sent more than ", kMaxMessages, " messages"));
      return std::nullopt;
    }
    const auto frame = gpu::ReadFrame(socket_, deadline, order_.wake);
    if (!frame.ok()) {
      EndWith(frame.status());
      return std::nullopt;
    }
    auto message = gpu::DecodeWorkerMessage(*frame);
    if (!message.ok()) {
      End(TalkEnd::kNonsense, std::string(message.status().message()));
      return std::nullopt;
    }
    return *std::move(message);
  }

  bool Send(const gpu::DaemonMessage& message) {
    const absl::Status sent =
        gpu::WriteFrame(socket_, gpu::Encode(message), order_.deadline);
    if (!sent.ok()) EndWith(sent);
    return sent.ok();
  }

  void EndWith(const absl::Status& status) {
    const std::string words(status.message());
    if (absl::IsCancelled(status)) {
      End(TalkEnd::kCancelled, words);
    } else if (absl::IsDeadlineExceeded(status)) {
      End(TalkEnd::kTimedOut, words);
    } else if (absl::IsUnavailable(status) || HasClosed(socket_)) {
      End(TalkEnd::kClosed, words);
    } else {
      End(TalkEnd::kNonsense, words);
    }
  }

  // Always false, so that a caller can return it.
  bool End(TalkEnd end, std::string words) {
    talk_.end = end;
    talk_.words = std::move(words);
    return false;
  }

  const int socket_;
  const TalkOrder& order_;
  Talk talk_;
  bool settled_ = false;
  int messages_ = 0;
};

}  // namespace

Talk TalkWithWorker(int socket, const TalkOrder& order) {
  return Conversation(socket, order).Run();
}

}  // namespace memplan
