// ServerService: how the daemon does, and its log's level.
#ifndef MEMPLAN_SERVER_SERVICES_SERVER_SERVICE_H_
#define MEMPLAN_SERVER_SERVICES_SERVER_SERVICE_H_

#include <functional>
#include <utility>

#include "memplan/v1/server_service.grpc.pb.h"
#include "server/base/server_status.h"

namespace memplan {

// Thread-safe.
class ServerService final : public v1::ServerService::CallbackService {
 public:
  // `status` is called by handlers, several at once, and must not wait.
  explicit ServerService(std::function<ServerStatus()> status)
      : status_(std::move(status)) {}

  grpc::ServerUnaryReactor* GetServerStatus(
      grpc::CallbackServerContext* context,
      const v1::GetServerStatusRequest* request,
      v1::GetServerStatusResponse* response) override;
  grpc::ServerUnaryReactor* SetLogLevel(
      grpc::CallbackServerContext* context,
      const v1::SetLogLevelRequest* request,
      v1::SetLogLevelResponse* response) override;

 private:
  const std::function<ServerStatus()> status_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_SERVER_SERVICE_H_
