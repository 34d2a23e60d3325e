// A whole file in memory in which nobody wrote most bytes: its holes are neither
// read nor given memory. A worker's trace is one, whose names have room for 8 MiB.
#ifndef MEMPLAN_SERVER_STORE_SPARSE_FILE_H_
#define MEMPLAN_SERVER_STORE_SPARSE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace memplan {

// Owns its memory. Not thread-safe.
class SparseFile {
 public:
  // All that the file at `path` holds. Errors as of FileError; kResourceExhausted
  // if it is larger than `most` bytes.
  static absl::StatusOr<SparseFile> Read(const std::string& path, int64_t most);

  SparseFile(SparseFile&& other) noexcept
      : bytes_(std::exchange(other.bytes_, nullptr)), size_(other.size_) {}
  SparseFile& operator=(SparseFile&&) = delete;
  ~SparseFile();

  std::string_view bytes() const {
    return bytes_ == nullptr ? std::string_view()
                             : std::string_view(bytes_, size_);
  }

 private:
  // Zeros.
  explicit SparseFile(size_t size);

  char* bytes_ = nullptr;  // mapped; null: there are none
  size_t size_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_SPARSE_FILE_H_
