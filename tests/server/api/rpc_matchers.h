// A matcher for errors as clients of the API get them.
#ifndef MEMPLAN_TESTS_SERVER_API_RPC_MATCHERS_H_
#define MEMPLAN_TESTS_SERVER_API_RPC_MATCHERS_H_

#include <grpcpp/support/status.h>

#include <optional>
#include <ostream>
#include <string>

#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace grpc {
inline void PrintTo(const Status& status, std::ostream* out) {
  *out << "status " << status.error_code() << ": " << status.error_message();
}
}  // namespace grpc

namespace memplan::testing {

// The one detail of its type, or unset.
template <typename Detail>
std::optional<Detail> FindDetail(const google::rpc::Status& status) {
  for (const google::protobuf::Any& any : status.details()) {
    Detail detail;
    if (any.UnpackTo(&detail)) return detail;
  }
  return std::nullopt;
}
template <typename Detail>
std::optional<Detail> FindDetail(const grpc::Status& status) {
  google::rpc::Status rpc;
  if (!rpc.ParseFromString(status.error_details())) return std::nullopt;
  return FindDetail<Detail>(rpc);
}

inline std::string RpcReason(const grpc::Status& status) {
  const auto info = FindDetail<google::rpc::ErrorInfo>(status);
  return info ? info->reason() : std::string();
}

// The field of the first violation, or empty.
inline std::string RpcField(const grpc::Status& status) {
  const auto bad = FindDetail<google::rpc::BadRequest>(status);
  return bad ? bad->field_violations(0).field() : std::string();
}

MATCHER(IsRpcOk, "is OK") {
  *result_listener << arg.error_code() << ": " << arg.error_message();
  return arg.ok();
}

// Matches an error with this code, ErrorInfo.reason and, in BadRequest, field
// ("" for no BadRequest).
MATCHER_P3(IsRpcError, code, reason, field,
           std::string("has the reason ") + reason + " and the field \"" +
               field + "\"") {
  *result_listener << "which has the code " << arg.error_code() << ", reason "
                   << RpcReason(arg) << ", field \"" << RpcField(arg)
                   << "\": " << arg.error_message();
  return arg.error_code() == code && RpcReason(arg) == reason &&
         RpcField(arg) == field;
}

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SERVER_API_RPC_MATCHERS_H_
