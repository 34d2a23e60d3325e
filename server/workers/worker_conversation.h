// The daemon's half of the talk with one worker (cuda/worker/messages), from its
// hello to its last answer. Knows the socket alone: no process, no clock of its
// own.
#ifndef MEMPLAN_SERVER_WORKERS_WORKER_CONVERSATION_H_
#define MEMPLAN_SERVER_WORKERS_WORKER_CONVERSATION_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cuda/worker/messages/messages.h"
#include "server/devices/context_reading.h"

namespace memplan {

// How the talk about one order ended.
enum class TalkEnd {
  kAnswered,      // `report`, `prepared` or `calls` is set
  kClosed,        // the worker closed the channel, maybe within a message
  kTimedOut,      // a deadline passed
  kNonsense,      // the worker broke the protocol; `words` tell how
  kOtherVersion,  // the worker speaks another version; `words` tell
  kRealWorker,    // the device is made up, but the worker is not; likewise
  kNotSandboxed,  // a layer that the request requires is missing; `words` tell
  kCancelled,
};

struct Talk {
  TalkEnd end = TalkEnd::kClosed;
  std::string words;  // what was wrong, unless kAnswered
  bool said_hello = false;
  std::string torch_version;  // from its hello
  // What the worker did last: start, load, step, report or calls.
  std::string phase = "start";
  // Told once, if the first order asks for a sandbox.
  std::vector<gpu::SandboxLayer> sandbox;
  std::optional<gpu::Report> report;
  std::optional<gpu::Prepared> prepared;
  std::optional<gpu::CallsReport> calls;
  std::optional<ContextReading> context;
};

// What holds for all orders.
struct TalkTerms {
  std::chrono::steady_clock::time_point hello_deadline;
  // The device is a made-up one: only a scripted worker may go on.
  bool scripted_gpu = false;
  int wake = -1;  // readable once the talk is to be cancelled
};

struct RunTalk {
  gpu::TrialRequest request;
  std::chrono::steady_clock::time_point deadline;
  std::function<void(const gpu::Progress&)> on_progress;
  // Called once, when the worker has settled and waits.
  std::function<std::optional<ContextReading>(const gpu::Settled&)>
      read_context;
};

// Each order talks until there is an answer or no sense in going on; after the
// latter all further ones end likewise. Messages must come in their order, an
// answer must match its order, and there may be 1000 messages about one at most.
// Not thread-safe.
class WorkerConversation {
 public:
  // `socket` stays the caller's.
  WorkerConversation(int socket, TalkTerms terms);

  // Answered by `prepared`, or by `report` if the model did not load.
  Talk Prepare(const gpu::Prepare& order,
               std::chrono::steady_clock::time_point deadline);
  Talk Run(const RunTalk& order);
  Talk RunCalls(const gpu::RunCalls& calls,
                std::chrono::steady_clock::time_point deadline);
  // Says that no order follows. False if it cannot be said any more.
  bool SayEnd(std::chrono::steady_clock::time_point deadline);

  // True if the worker's end of the channel is closed and all it said was heard.
  // May be asked while another thread talks.
  bool HasClosed() const;

 private:
  using Deadline = std::chrono::steady_clock::time_point;

  // These end the talk and return false, or nothing, if it cannot go on.
  bool Begin(const gpu::DaemonMessage& order,
             const std::optional<gpu::SandboxOrder>& sandbox);
  bool Greet();
  bool HearOfSandbox(const gpu::SandboxOrder& order);
  bool Follow(const gpu::WorkerMessage& message, const RunTalk& order);
  bool Settle(const gpu::Settled& settled, const RunTalk& order);
  bool TakeReport(const gpu::Report& report, const gpu::TrialRequest& request);
  std::optional<gpu::WorkerMessage> Receive(Deadline deadline);
  bool Send(const gpu::DaemonMessage& message);
  void EndWith(const absl::Status& status);
  bool End(TalkEnd end, std::string words);  // always false

  const int socket_;
  const TalkTerms terms_;
  Talk talk_;  // about the present order
  Deadline deadline_;
  bool can_go_on_ = true;
  bool settled_ = false;
  int messages_ = 0;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_WORKERS_WORKER_CONVERSATION_H_
