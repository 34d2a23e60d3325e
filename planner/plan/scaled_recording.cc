#include "planner/plan/scaled_recording.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "planner/base/bytes.h"
#include "planner/plan/live_replay.h"
#include "planner/trace/event.h"
#include "planner/trace/request_stream.h"

namespace memplan {
namespace {

// What scratch of libraries may take at a larger batch beyond its part.
constexpr double kCapShare = 0.95;

std::optional<Bytes> WithRoomToSpare(const AllocatorConditions& conditions) {
  const std::optional<Bytes> cap = conditions.EffectiveCap();
  if (!cap.has_value()) return cap;
  return Bytes(
      static_cast<int64_t>(kCapShare * static_cast<double>(cap->count())));
}

AllocatorConditions WithCap(AllocatorConditions conditions,
                            std::optional<Bytes> cap) {
  conditions.cap = cap;
  return conditions;
}

// The first request of the first step.
size_t EndOfLoad(const RequestStream& stream) {
  for (const StreamPhase& phase : stream.phases) {
    if (phase.is_step) return phase.begin;
  }
  return 0;
}

}  // namespace

ScaledRecording::ScaledRecording(const Trace& trace, int64_t batch,
                                 const AllocatorConditions& conditions,
                                 bool has_segments)
    : batch_(batch),
      cap_(WithRoomToSpare(conditions)),
      has_segments_(has_segments),
      recorded_(StreamOf(trace)),
      scaled_(recorded_),
      allocator_(WithCap(conditions, cap_), addresses_),
      replay_(allocator_) {
  FindConstants();
}

void ScaledRecording::FindConstants() {
  std::vector<bool> is_freed(recorded_.block_count, false);
  for (const Request& request : recorded_.requests) {
    if (request.kind == RequestKind::kFree) is_freed[request.block] = true;
  }
  const size_t end_of_load = EndOfLoad(recorded_);
  absl::flat_hash_set<int64_t> sizes;
  for (size_t i = 0; i < recorded_.requests.size(); ++i) {
    const Request& request = recorded_.requests[i];
    if (request.kind == RequestKind::kAlloc &&
        (i < end_of_load || !is_freed[request.block])) {
      sizes.insert(request.bytes);
    }
  }
  for (const Request& request : recorded_.requests) {
    is_constant_.push_back(request.kind != RequestKind::kAlloc ||
                           sizes.contains(request.bytes));
  }
}

bool ScaledRecording::IsLikelyToFit(int64_t batch) {
  for (size_t i = 0; i < scaled_.requests.size(); ++i) {
    if (is_constant_[i]) continue;
    const double bytes = static_cast<double>(recorded_.requests[i].bytes) *
                         static_cast<double>(batch) /
                         static_cast<double>(batch_);
    if (bytes > static_cast<double>(kMaxEventBytes)) return false;
    scaled_.requests[i].bytes =
        std::max<int64_t>(static_cast<int64_t>(bytes), 1);
  }
  return (has_segments_ ? replay_.Run(scaled_) : ReplayLiveBytes(scaled_, cap_))
      .Runs();
}

int64_t ScaledRecording::LargestLikelyToFit(int64_t at_most) {
  if (IsLikelyToFit(at_most)) return at_most;
  int64_t fits = 0;
  int64_t fails = at_most;
  while (fails - fits > 1) {
    const int64_t middle = fits + (fails - fits) / 2;
    (IsLikelyToFit(middle) ? fits : fails) = middle;
  }
  return fits;
}

}  // namespace memplan
