// The file of an upload: what came of it so far, and the SHA-256 of that. A file
// that an earlier upload left is read once more for its hash, a stretch at a
// time, so that neither memory nor other uploads suffer from a large one.
#ifndef MEMPLAN_SERVER_STORE_PART_FILE_H_
#define MEMPLAN_SERVER_STORE_PART_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/descriptor.h"
#include "server/store/sha256.h"

namespace memplan {

// Not thread-safe. Every method waits for the disk.
class PartFile {
 public:
  // Opens the file at `path`, of which `kept_bytes` are to be kept, or makes it.
  static absl::StatusOr<std::unique_ptr<PartFile>> Open(std::string path,
                                                        int64_t kept_bytes);

  int64_t size_bytes() const { return size_bytes_; }
  int descriptor() const { return descriptor_.get(); }

  // Empties the file.
  absl::Status Restart();
  // Hashes on in what the file had when it was opened: true if there is more.
  absl::StatusOr<bool> CatchUp();
  // What was not written whole is cut off again.
  absl::Status Append(std::string_view data);
  // The SHA-256 of the whole, once, last.
  absl::StatusOr<std::string> Finish();
  // Makes it read-only and durable.
  absl::Status Seal();

 private:
  PartFile(std::string path, Descriptor descriptor, int64_t size_bytes);

  absl::Status CatchUpWholly();

  const std::string path_;
  const Descriptor descriptor_;
  int64_t size_bytes_;
  int64_t hashed_bytes_ = 0;
  std::unique_ptr<Sha256> hash_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_PART_FILE_H_
