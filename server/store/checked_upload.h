// An upload in progress: each piece is checked as it comes, the whole at the
// commit. What was written is removed unless it became a model.
#ifndef MEMPLAN_SERVER_STORE_CHECKED_UPLOAD_H_
#define MEMPLAN_SERVER_STORE_CHECKED_UPLOAD_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/model_store.h"

namespace memplan {

class StoredModels;

// The longest piece, and the longest name for people, in bytes.
inline constexpr int64_t kMaxChunkBytes = 1 << 20;
inline constexpr size_t kMaxDisplayNameBytes = 128;

struct UploadHeader {
  std::string sha256;
  int64_t total_bytes = 0;
  std::string display_name;
};

// kInvalidArgument (INVALID_UPLOAD), beginning with the name of the field that
// is wrong.
absl::Status CheckUploadHeader(const UploadHeader& header);

// Begins an upload with a checked header, written to a new file in `parts` if
// `models` does not have the model, which it keeps from being deleted if it
// does. kInvalidArgument (INVALID_UPLOAD) if the size is not that of the stored
// model; kResourceExhausted (STORE_FULL) if the disk has no room for it.
absl::StatusOr<std::unique_ptr<ModelUpload>> BeginCheckedUpload(
    StoredModels& models, const std::string& parts, UploadHeader header);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_CHECKED_UPLOAD_H_
