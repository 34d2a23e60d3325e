// Errors as google.rpc.Status: the code and words, with typed details made from
// the status's reason and field (server/base/reason.h). Pure.
//
// Everything is trimmed so that the details stay within 4 kB: gRPC 1.51 loses
// all of them from about 7 kB on.
#ifndef MEMPLAN_SERVER_CONVERT_RPC_STATUS_H_
#define MEMPLAN_SERVER_CONVERT_RPC_STATUS_H_

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"
#include "google/rpc/status.pb.h"

namespace memplan {

// ErrorInfo.domain of every error.
inline constexpr std::string_view kErrorDomain = "memplan.v1";
// The most bytes of a serialized google.rpc.Status; its message and each
// description have at most 1 kB of them.
inline constexpr size_t kMaxDetailBytes = 4096;

// `status` (an error) with ErrorInfo always; BadRequest if it names a field;
// RetryInfo if the same call may succeed later; PreconditionFailure for
// kFailedPrecondition; QuotaFailure for kResourceExhausted. A field stands before
// the message, since not every client reads details.
google::rpc::Status ToRpcStatus(const absl::Status& status);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONVERT_RPC_STATUS_H_
