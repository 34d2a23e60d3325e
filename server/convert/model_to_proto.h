// Stored models as protos, and the checks on what clients send about them. Pure.
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

// OK if an upload may begin with this header; else kInvalidArgument
// (INVALID_UPLOAD) with the field's path.
absl::Status CheckHeader(const v1::UploadHeader& header);

// OK if the chunk may be handed to the store, which knows where it belongs; else
// kInvalidArgument (INVALID_UPLOAD) with the field's path.
absl::Status CheckChunk(const v1::UploadChunk& chunk);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONVERT_MODEL_TO_PROTO_H_
