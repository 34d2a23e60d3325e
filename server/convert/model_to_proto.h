// Stored models as protos, and the check of their names. Pure.
#ifndef MEMPLAN_SERVER_CONVERT_MODEL_TO_PROTO_H_
#define MEMPLAN_SERVER_CONVERT_MODEL_TO_PROTO_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "memplan/v1/model_service.pb.h"
#include "server/store/model_store.h"

namespace memplan {

v1::Model ToProto(const Model& model);

// OK if `sha256` is 64 lower-case hexadecimal digits; else kInvalidArgument with
// `reason` and `field`.
absl::Status CheckSha256(std::string_view sha256, std::string_view reason,
                         std::string_view field);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONVERT_MODEL_TO_PROTO_H_
