#include "planner/plan/recording_choice.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "planner/base/bytes.h"
#include "planner/trace/request_stream.h"
#include "planner/trace/trace.h"

namespace memplan {
namespace {

// Laws found from 32 up hold for larger batches; kernels change below.
constexpr int64_t kLargeBatch = 32;
// The share of the cap that a recording may be expected to take: the rest is for
// rounding, and for what is cached but of no use.
constexpr double kCapShare = 0.9;

// The two recordings are at least as 3 to 2.
int64_t EnoughAbove(int64_t batch) { return batch + (batch + 1) / 2; }
int64_t EnoughBelow(int64_t batch) { return batch * 2 / 3; }

bool Has(const std::vector<int64_t>& batches, int64_t batch) {
  return std::binary_search(batches.begin(), batches.end(), batch);
}

std::optional<int64_t> FirstToRecord(const RecordingState& state) {
  const int64_t first = std::min(
      state.first_batch, std::max<int64_t>(EnoughBelow(state.max_batch), 1));
  if (!Has(state.failed, first)) return first;
  if (!Has(state.failed, 1)) return 1;
  return std::nullopt;
}

std::optional<int64_t> SecondToRecord(const RecordingState& state) {
  const int64_t recorded = state.recorded.front();
  int64_t above = std::min({std::max(kLargeBatch, 2 * recorded),
                            state.max_batch, state.likely_to_fit});
  const auto failing =
      std::upper_bound(state.failed.begin(), state.failed.end(), recorded);
  if (failing != state.failed.end() && above >= *failing) {
    const double middle = std::sqrt(static_cast<double>(recorded) *
                                    static_cast<double>(*failing));
    above = std::min(*failing - 1, std::max(EnoughAbove(recorded),
                                            static_cast<int64_t>(middle)));
  }
  if (above >= EnoughAbove(recorded)) return above;
  const int64_t below = std::min(EnoughBelow(recorded), state.likely_to_fit);
  if (below >= 1 && !Has(state.failed, below)) return below;
  // What is left is beside it, likely to fit or not.
  for (const int64_t beside : {recorded + 1, recorded - 1}) {
    if (beside >= 1 && beside <= state.max_batch &&
        !Has(state.failed, beside)) {
      return beside;
    }
  }
  return std::nullopt;
}

}  // namespace

MemoryNeed NeedOf(const Trace& trace) {
  const RequestStream stream = StreamOf(trace);
  std::vector<int64_t> sizes(stream.block_count, 0);
  int64_t live = 0;
  int64_t peak = 0;
  int64_t least = 0;  // in the last step
  size_t phase = 0;
  bool is_in_step = false;
  for (uint32_t i = 0; i < stream.requests.size(); ++i) {
    for (; phase < stream.phases.size() && stream.phases[phase].begin <= i;
         ++phase) {
      is_in_step = stream.phases[phase].is_step;
      if (is_in_step) least = live;
    }
    const Request& request = stream.requests[i];
    if (request.kind == RequestKind::kEmptyCache) continue;
    int64_t& size = sizes[request.block];
    live -= size;
    size = request.kind == RequestKind::kAlloc ? request.bytes : 0;
    live += size;
    peak = std::max(peak, live);
    if (is_in_step) least = std::min(least, live);
  }
  return {.resident = Bytes(least), .growing = Bytes(peak - least)};
}

int64_t LikelyToFit(const MemoryNeed& need, int64_t recorded,
                    std::optional<Bytes> cap) {
  if (!cap.has_value()) return INT64_MAX;
  const double room = kCapShare * static_cast<double>(cap->count()) -
                      static_cast<double>(need.resident.count());
  if (room <= 0) return 0;
  const double growing =
      static_cast<double>(std::max<int64_t>(need.growing.count(), 1));
  const double batch = room / growing * static_cast<double>(recorded);
  return batch < static_cast<double>(INT32_MAX) ? static_cast<int64_t>(batch)
                                                : INT32_MAX;
}

std::optional<int64_t> NextToRecord(const RecordingState& state) {
  if (state.recorded.size() >= 2) return std::nullopt;
  if (state.recorded.empty()) return FirstToRecord(state);
  return SecondToRecord(state);
}

}  // namespace memplan
