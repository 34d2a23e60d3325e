// Writes the trace into the memory file that the daemon made (trace_layout.h).
// The header is true after every call, so that the trace of a worker that was
// killed can be read as far as it got. What has no room is counted.
#ifndef MEMPLAN_CUDA_WORKER_TRIAL_TRACE_WRITER_H_
#define MEMPLAN_CUDA_WORKER_TRIAL_TRACE_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "cuda/worker/messages/trace_layout.h"

namespace memplan::gpu {

// Thread-safe. May be called with an allocator's lock held: it takes only its
// own, and calls nothing that allocates device memory.
class TraceWriter {
 public:
  // Maps the file behind `descriptor`, which stays the caller's. Returns
  // kInvalidArgument if it is no file or has no room for a single record.
  static absl::StatusOr<std::unique_ptr<TraceWriter>> Map(int descriptor);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // The id of `name`, written the first time it is seen. Names are kept to
  // kLongestName bytes. Returns kNoName if there is no room.
  uint32_t Intern(std::string_view name);

  // The same for the text of a signature, which is kept whole or not at all: one
  // above kLongestSignature bytes gets kNoName. Having no room for it is no loss
  // that the header tells.
  uint32_t InternSignature(std::string_view text);

  void Append(const TraceRecord& record);

  // The file becomes a trace without records and names. Ids given before mean
  // nothing from then on.
  void Restart();

 private:
  TraceWriter(std::byte* memory, size_t size);

  // Finds a name without making a string of it.
  struct NameHash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>()(name);
    }
  };

  // Both under mutex_.
  uint32_t Add(std::string_view name);
  bool WriteName(std::string_view name);
  void Publish();

  std::byte* const memory_;
  const size_t size_;
  const uint64_t capacity_;  // records
  std::mutex mutex_;
  // What the header says, guarded by mutex_. The mapped header is only written:
  // whatever else happens to the file cannot move us out of bounds.
  TraceHeader header_ = {};
  std::unordered_map<std::string, uint32_t, NameHash, std::equal_to<>> ids_;
};

inline constexpr size_t kLongestName = 512;
// Calls of hundreds of tensors, such as those of foreach optimizers, have more.
inline constexpr size_t kLongestSignature = 16384;

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_TRIAL_TRACE_WRITER_H_
