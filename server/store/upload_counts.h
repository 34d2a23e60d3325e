// How uploads ended, for metrics.
#ifndef MEMPLAN_SERVER_STORE_UPLOAD_COUNTS_H_
#define MEMPLAN_SERVER_STORE_UPLOAD_COUNTS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memplan {

enum class UploadOutcome { kStored, kAlreadyStored, kBrokenOff, kRefused };

inline constexpr size_t kUploadOutcomes = 4;

// In UploadOutcome's order.
using UploadsByOutcome = std::array<int64_t, kUploadOutcomes>;

// Thread-safe.
class UploadCounts {
 public:
  void Add(UploadOutcome outcome) { ++counts_[static_cast<size_t>(outcome)]; }

  UploadsByOutcome Read() const {
    UploadsByOutcome counts{};
    for (size_t i = 0; i < counts.size(); ++i) counts[i] = counts_[i];
    return counts;
  }

 private:
  std::array<std::atomic<int64_t>, kUploadOutcomes> counts_{};
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_UPLOAD_COUNTS_H_
