#include "server/convert/model_to_proto.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "server/base/reason.h"
#include "server/convert/times.h"

namespace memplan {
namespace {

constexpr size_t kSha256Digits = 64;
constexpr size_t kMaxDisplayNameBytes = 128;
constexpr size_t kMaxChunkBytes = size_t{1} << 20;

bool IsLowerCaseHexDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

absl::Status InvalidUpload(const std::string& message, std::string_view field) {
  return WithReason(absl::InvalidArgumentError(message), "INVALID_UPLOAD",
                    field);
}

}  // namespace

v1::Model ToProto(const Model& model) {
  v1::Model proto;
  proto.set_sha256(model.sha256);
  proto.set_display_name(model.display_name);
  proto.set_size_bytes(model.size_bytes);
  *proto.mutable_create_time() = ToTimestamp(model.create_time);
  return proto;
}

absl::Status CheckSha256(std::string_view sha256, std::string_view reason,
                         std::string_view field) {
  const bool well_formed =
      sha256.size() == kSha256Digits &&
      std::all_of(sha256.begin(), sha256.end(), IsLowerCaseHexDigit);
  if (well_formed) return absl::OkStatus();
  const std::string shown(sha256.substr(0, kSha256Digits));
  return WithReason(
      absl::InvalidArgumentError(absl::StrCat(
          "\"", shown, "\" (", sha256.size(),
          " bytes) is not 64 lower-case hexadecimal digits; a model is named "
          "by the SHA-256 of its file, as sha256sum prints it")),
      reason, field);
}

absl::Status CheckHeader(const v1::UploadHeader& header) {
  if (absl::Status sha256 =
          CheckSha256(header.sha256(), "INVALID_UPLOAD", "header.sha256");
      !sha256.ok()) {
    return sha256;
  }
  if (header.total_bytes() < 1) {
    return InvalidUpload(
        absl::StrCat("an archive has 1 byte or more, not ",
                     header.total_bytes(), "; send the file's size"),
        "header.total_bytes");
  }
  if (header.display_name().size() > kMaxDisplayNameBytes) {
    return InvalidUpload(
        absl::StrCat("the name has ", header.display_name().size(),
                     " bytes; at most ", kMaxDisplayNameBytes,
                     " are kept, so shorten it"),
        "header.display_name");
  }
  return absl::OkStatus();
}

absl::Status CheckChunk(const v1::UploadChunk& chunk) {
  if (chunk.data().empty()) {
    return InvalidUpload("a chunk has 1 byte or more; leave empty ones out",
                         "chunk.data");
  }
  if (chunk.data().size() > kMaxChunkBytes) {
    return InvalidUpload(
        absl::StrCat("the chunk has ", chunk.data().size(),
                     " bytes; at most 1 MiB (", kMaxChunkBytes,
                     ") is taken at once, so send smaller pieces"),
        "chunk.data");
  }
  return absl::OkStatus();
}

}  // namespace memplan
