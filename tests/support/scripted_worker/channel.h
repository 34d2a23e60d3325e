// The scripted worker's end of the channel: the protocol as it should be, and
// the ways to break it.
#ifndef MEMPLAN_TESTS_SUPPORT_SCRIPTED_WORKER_CHANNEL_H_
#define MEMPLAN_TESTS_SUPPORT_SCRIPTED_WORKER_CHANNEL_H_

#include <string_view>

#include "cuda/worker/messages/messages.h"

namespace memplan::testing {

// From now on the process ends once the daemon closes its end, whatever it does
// meanwhile. Further calls change nothing.
void EndWithTheDaemon();

// Send or wait for one message; end the process if the channel is closed.
void Send(const gpu::WorkerMessage& message);
void SendHello(int protocol_version = gpu::kProtocolVersion);
gpu::DaemonMessage ReceiveOrder();
void WaitForProceed();

// A frame whose text is `text`, message or not.
void SendText(std::string_view text);
// The first half of a frame, and then nothing more: the channel is closed.
void SendHalfAFrame();
// The start of a frame longer than any may be.
void SendFrameTooLong();

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SUPPORT_SCRIPTED_WORKER_CHANNEL_H_
