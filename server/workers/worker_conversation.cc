#include "server/workers/worker_conversation.h"

#include <sys/socket.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cuda/worker/messages/frame.h"

namespace memplan {
namespace {

constexpr int kMaxMessages = 1000;
// What a scripted worker says it has for a libtorch.
constexpr std::string_view kScriptedVersion = "scripted";

}  // namespace

WorkerConversation::WorkerConversation(int socket, TalkTerms terms)
    : socket_(socket), terms_(terms) {}

Talk WorkerConversation::Prepare(const gpu::Prepare& order, Deadline deadline) {
  deadline_ = deadline;
  if (!Begin(order, order.program.sandbox)) return talk_;
  while (!talk_.prepared && !talk_.report) {
    const auto message = Receive(deadline_);
    if (!message) return talk_;
    if (const auto* prepared = std::get_if<gpu::Prepared>(&*message)) {
      talk_.prepared = *prepared;
    } else if (const auto* progress = std::get_if<gpu::Progress>(&*message)) {
      talk_.phase = progress->phase;
    } else if (const auto* report = std::get_if<gpu::Report>(&*message)) {
      if (!TakeReport(*report, order.program)) return talk_;
    } else {
      End(TalkEnd::kNonsense, "it said something else than that it is ready");
      return talk_;
    }
  }
  talk_.end = TalkEnd::kAnswered;
  return talk_;
}

Talk WorkerConversation::Run(const RunTalk& order) {
  deadline_ = order.deadline;
  settled_ = false;
  if (!Begin(order.request, order.request.sandbox)) return talk_;
  while (!talk_.report) {
    const auto message = Receive(deadline_);
    if (!message || !Follow(*message, order)) return talk_;
  }
  talk_.end = TalkEnd::kAnswered;
  return talk_;
}

Talk WorkerConversation::RunCalls(const gpu::RunCalls& calls,
                                  Deadline deadline) {
  deadline_ = deadline;
  if (!Begin(calls, std::nullopt)) return talk_;
  talk_.phase = "calls";
  const auto message = Receive(deadline_);
  if (!message) return talk_;
  const auto* report = std::get_if<gpu::CallsReport>(&*message);
  if (report == nullptr) {
    End(TalkEnd::kNonsense, "it did not tell of the operators it was given");
  } else if (report->results.size() != calls.calls.size()) {
    End(TalkEnd::kNonsense, absl::StrCat("it told of ", report->results.size(),
                                         " operators of ", calls.calls.size()));
  } else {
    talk_.calls = *report;
    talk_.end = TalkEnd::kAnswered;
  }
  return talk_;
}

bool WorkerConversation::SayEnd(Deadline deadline) {
  deadline_ = deadline;
  return can_go_on_ && Send(gpu::End{});
}

// What the worker said of itself is kept from one order to the next.
bool WorkerConversation::Begin(
    const gpu::DaemonMessage& order,
    const std::optional<gpu::SandboxOrder>& sandbox) {
  if (!can_go_on_) return false;
  const bool is_first = !talk_.said_hello;
  messages_ = 0;
  talk_.phase = "start";
  talk_.report.reset();
  talk_.prepared.reset();
  talk_.calls.reset();
  talk_.context.reset();
  if (is_first && !Greet()) return false;
  if (!Send(order)) return false;
  return !is_first || !sandbox || HearOfSandbox(*sandbox);
}

bool WorkerConversation::Greet() {
  const auto message = Receive(std::min(terms_.hello_deadline, deadline_));
  if (!message) return false;
  const auto* hello = std::get_if<gpu::Hello>(&*message);
  if (hello == nullptr) {
    return End(TalkEnd::kNonsense, "its first message was no hello");
  }
  talk_.said_hello = true;
  talk_.torch_version = hello->torch_version;
  if (hello->protocol_version != gpu::kProtocolVersion) {
    return End(TalkEnd::kOtherVersion,
               absl::StrCat("it speaks version ", hello->protocol_version,
                            " of the protocol, this daemon version ",
                            gpu::kProtocolVersion));
  }
  if (!terms_.scripted_gpu || talk_.torch_version == kScriptedVersion) {
    return true;
  }
  return End(
      TalkEnd::kRealWorker,
      absl::StrCat("it is a real worker, with libtorch ", talk_.torch_version));
}

// Nothing that a worker says is worth more than this: it is one of ours until
// it opens the model.
bool WorkerConversation::HearOfSandbox(const gpu::SandboxOrder& order) {
  const auto message = Receive(deadline_);
  if (!message) return false;
  const auto* sandboxed = std::get_if<gpu::Sandboxed>(&*message);
  if (sandboxed == nullptr) {
    return End(TalkEnd::kNonsense, "it did not tell of its sandbox first");
  }
  talk_.sandbox = sandboxed->layers;
  const auto missing = gpu::CoreLayersMissing(talk_.sandbox);
  if (!order.required || missing.empty()) return true;
  return End(TalkEnd::kNotSandboxed, absl::StrJoin(missing, "; "));
}

// Takes one message about a run.
bool WorkerConversation::Follow(const gpu::WorkerMessage& message,
                                const RunTalk& order) {
  if (const auto* progress = std::get_if<gpu::Progress>(&message)) {
    talk_.phase = progress->phase;
    order.on_progress(*progress);
    return true;
  }
  if (const auto* settled = std::get_if<gpu::Settled>(&message)) {
    return Settle(*settled, order);
  }
  if (const auto* report = std::get_if<gpu::Report>(&message)) {
    return TakeReport(*report, order.request);
  }
  return End(TalkEnd::kNonsense, "it said something a second time, or unasked");
}

bool WorkerConversation::Settle(const gpu::Settled& settled,
                                const RunTalk& order) {
  if (settled_) return End(TalkEnd::kNonsense, "it settled twice");
  settled_ = true;
  talk_.phase = "report";
  order.on_progress({talk_.phase, gpu::StepCount(order.request)});
  talk_.context = order.read_context(settled);
  return Send(gpu::Proceed{});
}

bool WorkerConversation::TakeReport(const gpu::Report& report,
                                    const gpu::TrialRequest& request) {
  const auto steps = static_cast<int>(report.steps.size());
  const int ordered = gpu::StepCount(request);
  const bool ran = report.end == gpu::EndKind::kRan;
  if (ran ? steps != ordered : steps > ordered) {
    return End(TalkEnd::kNonsense,
               absl::StrCat("it reported ", steps, " steps of ", ordered));
  }
  talk_.report = report;
  return true;
}

bool WorkerConversation::HasClosed() const {
  char byte = 0;
  return recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

// The next message, or nothing if the talk has ended.
std::optional<gpu::WorkerMessage> WorkerConversation::Receive(
    Deadline deadline) {
  if (++messages_ > kMaxMessages) {
    End(TalkEnd::kNonsense,
        absl::StrCat("it sent more than ", kMaxMessages, " messages"));
    return std::nullopt;
  }
  const auto frame = gpu::ReadFrame(socket_, deadline, terms_.wake);
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

bool WorkerConversation::Send(const gpu::DaemonMessage& message) {
  const absl::Status sent =
      gpu::WriteFrame(socket_, gpu::Encode(message), deadline_, terms_.wake);
  if (!sent.ok()) EndWith(sent);
  return sent.ok();
}

void WorkerConversation::EndWith(const absl::Status& status) {
  const std::string words(status.message());
  if (absl::IsCancelled(status)) {
    End(TalkEnd::kCancelled, words);
  } else if (absl::IsDeadlineExceeded(status)) {
    End(TalkEnd::kTimedOut, words);
  } else if (absl::IsUnavailable(status) || HasClosed()) {
    End(TalkEnd::kClosed, words);
  } else {
    End(TalkEnd::kNonsense, words);
  }
}

bool WorkerConversation::End(TalkEnd end, std::string words) {
  talk_.end = end;
  talk_.words = std::move(words);
  can_go_on_ = false;
  return false;
}

}  // namespace memplan
