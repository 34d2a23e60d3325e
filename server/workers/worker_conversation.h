// The daemon's half of the talk with one worker (cuda/worker/messages), from its
// hello to its report. Knows the socket alone: no process, no clock of its own.
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

// How the talk ended.
enum class TalkEnd {
  kReported,      // `report` is set
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
  std::string words;  // what was wrong, unless kReported
  bool said_hello = false;
  std::string torch_version;  // from its hello
  // What the worker did last: start, load, step or report.
  std::string phase = "start";
  // Told if the request asks for a sandbox.
  std::vector<gpu::SandboxLayer> sandbox;
  std::optional<gpu::Report> report;
  std::optional<ContextReading> context;
};

struct TalkOrder {
  gpu::TrialRequest request;
  std::chrono::steady_clock::time_point hello_deadline;
  std::chrono::steady_clock::time_point deadline;  // of the whole talk
  // The device is a made-up one: only a scripted worker may go on.
  bool scripted_gpu = false;
  int wake = -1;  // readable once the talk is to be cancelled
  std::function<void(const gpu::Progress&)> on_progress;
  // Called once, when the worker has settled and waits.
  std::function<std::optional<ContextReading>(const gpu::Settled&)>
      read_context;
};

// Talks on `socket` until there is a report or no sense in going on. Messages
// must come in their order, a report must match the request, and there may be
// 1000 messages at most.
Talk TalkWithWorker(int socket, const TalkOrder& order);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_WORKERS_WORKER_CONVERSATION_H_
