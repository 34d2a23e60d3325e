#include "server/convert/model_to_proto.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "server/base/reason.h"
#include "server/convert/times.h"

namespace memplan {
namespace {

constexpr size_t kSha256Digits = 64;

bool IsLowerCaseHexDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
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

}  // namespace memplan
