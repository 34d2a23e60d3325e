// An upload in progress: each piece is checked as it comes, the whole at the
// commit.
#ifndef MEMPLAN_SERVER_STORE_CHECKED_UPLOAD_H_
#define MEMPLAN_SERVER_STORE_CHECKED_UPLOAD_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/model_store.h"
#include "server/store/part_claim.h"

namespace memplan {

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

// An upload of what is stored already, as `stored`, which `pin` keeps.
// kInvalidArgument (INVALID_UPLOAD) if the size is not that of the stored model.
absl::StatusOr<std::unique_ptr<ModelUpload>> CheckStoredAgain(
    UploadHeader header, Model stored, std::unique_ptr<ModelPin> pin);

// An upload into the part's file at `path`, made with the first piece.
std::unique_ptr<ModelUpload> GoOnWithPart(PartClaim claim,
                                          const std::string& path);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_CHECKED_UPLOAD_H_
