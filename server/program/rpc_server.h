// The gRPC server with everything that stands around the services: addresses,
// health, reflection, keepalive and an end that keeps its deadline.
#ifndef MEMPLAN_SERVER_PROGRAM_RPC_SERVER_H_
#define MEMPLAN_SERVER_PROGRAM_RPC_SERVER_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/call_counts.h"
#include "server/program/host_port.h"
#include "server/program/published_socket.h"

namespace memplan {

// The API's services, by full name. Health knows each; the empty name is the whole
// daemon.
const std::vector<std::string>& ServiceNames();

// How long connections last and how many calls they may have open.
struct RpcLimits {
  // Clients that are silent are asked this often whether they are there …
  std::chrono::milliseconds keepalive_interval = std::chrono::seconds(30);
  // … and dropped if they do not answer in time.
  std::chrono::milliseconds keepalive_timeout = std::chrono::seconds(10);
  // A connection this old is asked to end; its calls may go on for the grace.
  std::chrono::milliseconds max_connection_age = std::chrono::hours(1);
  std::chrono::milliseconds connection_age_grace = std::chrono::minutes(10);
  // Calls in progress on one connection; more wait in the client.
  int max_calls_per_connection = 100;
};

// Where the API is served.
struct RpcAddresses {
  UnixSocket socket;
  // For those who may only read; served by a gRPC server of its own.
  std::optional<UnixSocket> observer_socket;
  // TCP; unset for none.
  std::optional<HostPort> listen;
  // Of TCP; null for neither encryption nor authentication.
  std::shared_ptr<grpc::ServerCredentials> credentials;
};

// All of them outlive the server.
struct RpcServices {
  std::vector<grpc::Service*> full;
  std::vector<grpc::Service*> observer;  // for observer_socket
};

// Thread-safe but for Shutdown, which one thread calls.
class RpcServer {
 public:
  // Serves at all `addresses`. `counts` counts the calls and must outlive it. An
  // error, such as kUnavailable if an address is in use, says what to do.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(
      const RpcAddresses& addresses, const RpcLimits& limits,
      CallCounts& counts, const RpcServices& services);

  // The TCP address, with the port that the system chose; unset without one.
  const std::optional<HostPort>& listen() const { return listen_; }

  // What health checks of the part called `name` are answered with; nothing once
  // StopServing was called.
  void SetPartHealth(const std::string& name, bool healthy);

  // kUnavailable unless it answers a call within `patience`.
  absl::Status CheckAnswers(std::chrono::milliseconds patience);

  // Answers health checks of the whole, of each service and of each part from
  // now on with NOT SERVING.
  void StopServing();

  // Takes no more calls, cancels those that have not ended within `patience`,
  // and returns once every handler is done.
  void Shutdown(std::chrono::milliseconds patience);

 private:
  // A gRPC server and its socket, which goes after it.
  struct Role {
    std::unique_ptr<PublishedSocket> socket;
    std::unique_ptr<grpc::Server> server;
  };

  RpcServer() = default;

  // Serves what `builder` has on the socket, which `flag` names, and at the TCP
  // address of `tcp`; null for none.
  absl::Status StartRole(grpc::ServerBuilder& builder, const UnixSocket& socket,
                         const char* flag, const RpcAddresses* tcp);

  // Set while starting.
  std::vector<Role> roles_;
  std::optional<HostPort> listen_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_PROGRAM_RPC_SERVER_H_
