// How the daemon does, as the API tells it. Pure.
#ifndef MEMPLAN_SERVER_CONVERT_STATUS_TO_PROTO_H_
#define MEMPLAN_SERVER_CONVERT_STATUS_TO_PROTO_H_

#include <optional>

#include "memplan/v1/server_service.pb.h"
#include "server/base/log.h"
#include "server/base/server_status.h"

namespace memplan {

v1::ServerStatus ToProto(const ServerStatus& status);
v1::LogLevel ToProto(LogLevel level);
// Unset for LOG_LEVEL_UNSPECIFIED and values that are not known.
std::optional<LogLevel> FromProto(v1::LogLevel level);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONVERT_STATUS_TO_PROTO_H_
