#include "server/services/server_service.h"

#include <optional>

#include "absl/status/status.h"
#include "server/base/log.h"
#include "server/base/reason.h"
#include "server/convert/status_to_proto.h"
#include "server/services/unary_answer.h"

namespace memplan {

grpc::ServerUnaryReactor* ServerService::GetServerStatus(
    grpc::CallbackServerContext* context,
    const v1::GetServerStatusRequest* /*request*/,
    v1::GetServerStatusResponse* response) {
  return AnswerNow(context, [&] {
    *response->mutable_status() = ToProto(status_());
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* ServerService::SetLogLevel(
    grpc::CallbackServerContext* context, const v1::SetLogLevelRequest* request,
    v1::SetLogLevelResponse* response) {
  return AnswerNow(context, [&] {
    const std::optional<LogLevel> level = FromProto(request->level());
    if (!level) {
      return WithReason(
          absl::InvalidArgumentError(
              "level must be LOG_LEVEL_DEBUG, _INFO, _WARNING or _ERROR"),
          "INVALID_REQUEST", "level");
    }
    response->set_previous(ToProto(GetLogLevel()));
    memplan::SetLogLevel(*level);
    return absl::OkStatus();
  });
}

}  // namespace memplan
