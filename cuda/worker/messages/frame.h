// Frames on the socket between daemon and worker: four bytes of length, lowest
// first, then that many bytes of JSON. Both sides treat the other as broken:
// every read has a deadline and a length limit.
#ifndef MEMPLAN_CUDA_WORKER_MESSAGES_FRAME_H_
#define MEMPLAN_CUDA_WORKER_MESSAGES_FRAME_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace memplan::gpu {

// The longest frame either side sends or accepts: some thousand operator calls.
inline constexpr uint32_t kMaxFrameBytes = 1024 * 1024;

// Sends one frame on `socket`, waiting for room until `deadline`. Never raises
// SIGPIPE. Returns kInvalidArgument if `json` is longer than kMaxFrameBytes,
// kDeadlineExceeded, kUnavailable if the other side is gone. `wake` as below.
absl::Status WriteFrame(int socket, std::string_view json,
                        std::chrono::steady_clock::time_point deadline,
                        int wake = -1);

// Receives one frame. Returns kDeadlineExceeded if it is not whole by
// `deadline`, kUnavailable if the other side closed between frames, kDataLoss
// if it closed within one or announced more than kMaxFrameBytes. `wake` (−1 for
// none) is a descriptor that, once readable, ends the wait with kCancelled.
absl::StatusOr<std::string> ReadFrame(
    int socket, std::chrono::steady_clock::time_point deadline, int wake = -1);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_MESSAGES_FRAME_H_
