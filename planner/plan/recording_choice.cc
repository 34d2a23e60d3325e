#include "planner/plan/recording_choice.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

namespace memplan {
namespace {

// Laws found from 32 up hold for larger batches; kernels change below.
constexpr int64_t kLargeBatch = 32;
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
  int64_t above =
      std::min(LargestToRecord(recorded, state.max_batch), state.likely_to_fit);
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

int64_t LargestToRecord(int64_t recorded, int64_t max_batch) {
  return std::min(std::max(kLargeBatch, 2 * recorded), max_batch);
}

std::optional<int64_t> NextToRecord(const RecordingState& state) {
  if (state.recorded.size() >= 2) return std::nullopt;
  if (state.recorded.empty()) return FirstToRecord(state);
  return SecondToRecord(state);
}

}  // namespace memplan
