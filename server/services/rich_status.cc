#include "server/services/rich_status.h"

#include <spdlog/spdlog.h>

#include <exception>
#include <string>

#include "server/base/reason.h"
#include "server/convert/rpc_status.h"

namespace memplan {
namespace {

absl::Status Failed(const std::string& what) {
  spdlog::error("a call failed inside the daemon: {}", what);
  return WithReason(
      absl::InternalError("the daemon failed: " + what +
                          "; this is a fault of memplan, and its log has more"),
      "INTERNAL_ERROR");
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const google::rpc::Status rpc = ToRpcStatus(status);
  return {static_cast<grpc::StatusCode>(rpc.code()), rpc.message(),
          rpc.SerializeAsString()};
}

absl::Status Guarded(const std::function<absl::Status()>& work) noexcept {
  try {
    return work();
  } catch (const std::exception& error) {
    return Failed(error.what());
  } catch (...) {
    return Failed("an exception of unknown type");
  }
}

}  // namespace memplan
