// The device of a trial as the trial sees it: an allocator with a cap whose
// peaks are read span by span. One interface for the GPU and for the CPU, so
// that a trial is one code path.
#ifndef MEMPLAN_CUDA_WORKER_TRIAL_DEVICE_H_
#define MEMPLAN_CUDA_WORKER_TRIAL_DEVICE_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda/worker/messages/messages.h"
#include "planner/base/bytes.h"
#include "planner/plan/trial.h"

namespace memplan::gpu {

// A request that the allocator refused, and what it held then.
struct FailedRequest {
  Bytes asked;
  Bytes allocated;
  Bytes reserved;  // as much as allocated where there are no segments
  friend bool operator==(const FailedRequest&, const FailedRequest&) = default;
};

// What the allocator showed between two moments.
struct Span {
  Peaks peaks;
  int64_t allocation_retries = 0;
  int64_t failed_requests = 0;
  // The last request of all, unless it succeeded: one that failed and was not
  // made up for, as a convolution does with a smaller scratch.
  std::optional<FailedRequest> unmet = std::nullopt;
};

// Not thread-safe, though the allocator behind it is.
class Device {
 public:
  virtual ~Device() = default;

  // The cap in force, exact; unset without one.
  virtual std::optional<Bytes> cap() const = 0;
  // Sets the cap, also below what is held: then every request fails. Returns
  // kUnavailable with CUDA's words.
  virtual absl::Status SetCap(std::optional<Bytes> cap) = 0;

  // Gives up what the process keeps between programs (cached segments,
  // workspaces of kernel libraries), so that the next program finds what it
  // would find in a fresh process. Returns what is
  // held in spite of it, or kUnavailable with CUDA's words.
  virtual absl::StatusOr<Bytes> Renew() = 0;

  // Gives cached segments back to the driver. Returns kUnavailable with CUDA's
  // words.
  virtual absl::Status ReleaseCache() = 0;

  // What results of operator calls depend on.
  virtual Prepared Identity() const = 0;

  // Peaks and counts start anew.
  virtual void BeginSpan() = 0;
  // What happened since BeginSpan; may be called again.
  virtual Span ReadSpan() = 0;

  // What is held now. Returns kUnavailable with CUDA's words.
  virtual absl::StatusOr<Settled> State() = 0;

  // How fast what is held now can be read; nothing where it is the host's by
  // nature. Takes no memory of the allocator, but the context may grow by what
  // the reading's code takes.
  virtual std::optional<MemorySpeed> ReadSpeed() { return std::nullopt; }
};

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_TRIAL_DEVICE_H_
