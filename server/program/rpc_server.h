// The gRPC server with everything that stands around the services: addresses,
// health, reflection, keepalive and an end that keeps its deadline.
#ifndef MEMPLAN_SERVER_PROGRAM_RPC_SERVER_H_
#define MEMPLAN_SERVER_PROGRAM_RPC_SERVER_H_

#include <grpcpp/server.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/program/host_port.h"

namespace memplan {

// Thread-safe but for Shutdown, which one thread calls.
class RpcServer {
 public:
  // Serves `services`, which must outlive it, on the unix socket and, if given,
  // on a TCP port. Returns kUnavailable, with what to do, if an address cannot
  // be had.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(
      const std::string& socket, const std::optional<HostPort>& listen,
      const std::vector<grpc::Service*>& services);

  // The TCP address, with the port that the system chose; unset without one.
  const std::optional<HostPort>& listen() const { return listen_; }

  // Answers health checks of the whole and of each part from now on with NOT
  // SERVING.
  void StopServing();

  // Takes no more calls, cancels those that have not ended within `patience`,
  // and returns once every handler is done.
  void Shutdown(std::chrono::milliseconds patience);

 private:
  RpcServer(std::unique_ptr<grpc::Server> server,
            std::optional<HostPort> listen);

  const std::unique_ptr<grpc::Server> server_;
  const std::optional<HostPort> listen_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_PROGRAM_RPC_SERVER_H_
