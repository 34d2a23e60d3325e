// Counts what is live in an allocator that has no segments, as the CUDA caching
// allocator would count it: a request is rounded up to whole units of 512 bytes,
// and refused if the rounded sum would exceed the cap. Pure bookkeeping; the
// memory itself is the caller's.
#ifndef MEMPLAN_CUDA_WORKER_TRIAL_LIVE_BYTES_H_
#define MEMPLAN_CUDA_WORKER_TRIAL_LIVE_BYTES_H_

#include <cstdint>
#include <optional>

#include "planner/base/bytes.h"
#include "planner/plan/trial.h"

namespace memplan::gpu {

// The unit of every block (kMinBlockSize in c10/core/AllocatorConfig.h).
inline constexpr Bytes kBlockUnit{512};

// `requested` rounded up to whole units.
Bytes RoundedToUnits(Bytes requested);

// Not thread-safe.
class LiveBytes {
 public:
  explicit LiveBytes(std::optional<Bytes> cap) : cap_(cap) {}

  // Counts a block of `requested` bytes, more than 0. Returns false, counting a
  // failed request and no block, if the cap does not allow it.
  bool Take(Bytes requested);
  // The cap from now on; what is live stays.
  void SetCap(std::optional<Bytes> cap) { cap_ = cap; }
  // Counts a request that failed for another reason than the cap.
  void CountFailedRequest(Bytes requested);
  // Counts the end of a block that was taken.
  void Give(Bytes requested);

  // The peaks since then are the live bytes at this moment.
  void ResetPeaks();
  Peaks peaks() const;  // reserved is unset: there are no segments

  Bytes requested() const { return requested_; }
  Bytes allocated() const { return allocated_; }
  int64_t failed_requests() const { return failed_requests_; }
  // The last request, if it failed.
  std::optional<Bytes> unmet() const { return unmet_; }
  std::optional<Bytes> cap() const { return cap_; }

 private:
  std::optional<Bytes> cap_;
  Bytes requested_;
  Bytes allocated_;
  Bytes peak_requested_;
  Bytes peak_allocated_;
  int64_t failed_requests_ = 0;
  std::optional<Bytes> unmet_;
};

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_TRIAL_LIVE_BYTES_H_
