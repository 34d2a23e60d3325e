#include "server/convert/status_to_proto.h"

#include "server/convert/times.h"

namespace memplan {
namespace {

v1::SandboxLayerState ToProto(LayerState state) {
  switch (state) {
    case LayerState::kInForce:
      return v1::SANDBOX_LAYER_STATE_IN_FORCE;
    case LayerState::kMissing:
      return v1::SANDBOX_LAYER_STATE_MISSING;
    case LayerState::kOff:
      break;
  }
  return v1::SANDBOX_LAYER_STATE_OFF;
}

}  // namespace

v1::LogLevel ToProto(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return v1::LOG_LEVEL_DEBUG;
    case LogLevel::kInfo:
      return v1::LOG_LEVEL_INFO;
    case LogLevel::kWarning:
      return v1::LOG_LEVEL_WARNING;
    case LogLevel::kError:
      break;
  }
  return v1::LOG_LEVEL_ERROR;
}

std::optional<LogLevel> FromProto(v1::LogLevel level) {
  switch (level) {
    case v1::LOG_LEVEL_DEBUG:
      return LogLevel::kDebug;
    case v1::LOG_LEVEL_INFO:
      return LogLevel::kInfo;
    case v1::LOG_LEVEL_WARNING:
      return LogLevel::kWarning;
    case v1::LOG_LEVEL_ERROR:
      return LogLevel::kError;
    default:
      return std::nullopt;
  }
}

v1::ServerStatus ToProto(const ServerStatus& status) {
  v1::ServerStatus proto;
  proto.set_version(status.version);
  proto.set_state(status.state == ServerState::kServing
                      ? v1::SERVER_STATE_SERVING
                      : v1::SERVER_STATE_DRAINING);
  *proto.mutable_start_time() = ToTimestamp(status.start_time);
  proto.set_pid(status.pid);
  proto.set_log_level(ToProto(status.log_level));
  for (const PartStatus& part : status.parts) {
    v1::PartStatus* added = proto.add_parts();
    added->set_name(part.name);
    added->set_healthy(part.healthy);
    added->set_detail(part.detail);
  }
  for (const LimitStatus& limit : status.limits) {
    v1::LimitStatus* added = proto.add_limits();
    added->set_name(limit.name);
    added->set_used(limit.used);
    if (limit.most) added->set_most(*limit.most);
  }
  for (const SandboxLayer& layer : status.sandbox) {
    v1::SandboxLayer* added = proto.add_sandbox();
    added->set_name(layer.name);
    added->set_state(ToProto(layer.state));
    added->set_detail(layer.detail);
  }
  proto.set_store_path(status.store_path);
  proto.set_worker_path(status.worker_path);
  return proto;
}

}  // namespace memplan
