#include "server/convert/model_to_proto.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "server/base/reason.h"
#include "server/convert/times.h"
#include "server/store/sha256.h"

namespace memplan {

v1::Model ToProto(const Model& model) {
  v1::Model proto;
  proto.set_sha256(model.sha256);
  proto.set_display_name(model.display_name);
  proto.set_size_bytes(model.size_bytes);
  *proto.mutable_create_time() = ToTimestamp(model.create_time);
  proto.set_state(model.state == ModelState::kReady
                      ? v1::MODEL_STATE_READY
                      : v1::MODEL_STATE_UPLOADING);
  proto.set_committed_bytes(model.committed_bytes);
  if (model.last_use_time.time_since_epoch().count() > 0) {
    *proto.mutable_last_use_time() = ToTimestamp(model.last_use_time);
  }
  return proto;
}

absl::Status CheckSha256(std::string_view sha256, std::string_view reason,
                         std::string_view field) {
  if (IsSha256(sha256)) return absl::OkStatus();
  constexpr size_t kShownBytes = 64;
  const std::string shown(sha256.substr(0, kShownBytes));
  return WithReason(
      absl::InvalidArgumentError(absl::StrCat(
          "\"", shown, "\" (", sha256.size(),
          " bytes) is not 64 lower-case hexadecimal digits; a model is named "
          "by the SHA-256 of its file, as sha256sum prints it")),
      reason, field);
}

}  // namespace memplan
