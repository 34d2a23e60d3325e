#include "server/program/rpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "server/program/liveness.h"
#include "server/services/call_observer.h"

namespace memplan {
namespace {

// Clients ping every 30 s; gRPC's own default would end their connections.
constexpr int kMinPingIntervalMillis = 10'000;

void SetLimits(grpc::ServerBuilder& builder, const RpcLimits& limits) {
  const auto set = [&builder](const char* name, int64_t value) {
    builder.AddChannelArgument(
        name, static_cast<int>(
                  std::min<int64_t>(value, std::numeric_limits<int>::max())));
  };
  set(GRPC_ARG_KEEPALIVE_TIME_MS, limits.keepalive_interval.count());
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, limits.keepalive_timeout.count());
  set(GRPC_ARG_MAX_CONNECTION_AGE_MS, limits.max_connection_age.count());
  set(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
      limits.connection_age_grace.count());
  set(GRPC_ARG_MAX_CONCURRENT_STREAMS, limits.max_calls_per_connection);
}

void SetChannelArguments(grpc::ServerBuilder& builder) {
  // Two daemons on one port would each get half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
      kMinPingIntervalMillis);
}

void SetUp(grpc::ServerBuilder& builder, const RpcLimits& limits,
           CallCounts& counts, const std::vector<grpc::Service*>& services) {
  SetChannelArguments(builder);
  SetLimits(builder, limits);
  std::vector<
      std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
      observers;
  observers.push_back(MakeCallObserver(counts));
  builder.experimental().SetInterceptorCreators(std::move(observers));
  for (grpc::Service* service : services) builder.RegisterService(service);
}

void SetServing(grpc::Server& server) {
  for (const std::string& name : ServiceNames()) {
    server.GetHealthCheckService()->SetServingStatus(name, true);
  }
}

absl::Status CannotListen(const std::string& address,
                          const std::string& option) {
  return absl::UnavailableError(
      absl::StrCat("cannot listen on ", address,
                   "; is it in use? choose another with ", option));
}

}  // namespace

const std::vector<std::string>& ServiceNames() {
  static const std::vector<std::string> names = {
      "memplan.v1.AdmissionService", "memplan.v1.DeviceService",
      "memplan.v1.ModelService",     "memplan.v1.PlanService",
      "memplan.v1.ProbeService",     "memplan.v1.ServerService"};
  return names;
}

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(
    const RpcAddresses& addresses, const RpcLimits& limits, CallCounts& counts,
    const RpcServices& services) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  std::unique_ptr<RpcServer> server(new RpcServer());
  const auto start = [&](const UnixSocket& socket, const char* flag,
                         const std::vector<grpc::Service*>& served,
                         const RpcAddresses* tcp) {
    grpc::ServerBuilder builder;
    SetUp(builder, limits, counts, served);
    return server->StartRole(builder, socket, flag, tcp);
  };
  MEMPLAN_RETURN_IF_ERROR(
      start(addresses.socket, "--socket", services.full, &addresses));
  if (addresses.observer_socket) {
    MEMPLAN_RETURN_IF_ERROR(start(*addresses.observer_socket,
                                  "--observer-socket", services.observer,
                                  nullptr));
  }
  return server;
}

absl::Status RpcServer::StartRole(grpc::ServerBuilder& builder,
                                  const UnixSocket& socket, const char* flag,
                                  const RpcAddresses* tcp) {
  MEMPLAN_ASSIGN_OR_RETURN(std::unique_ptr<PublishedSocket> published,
                           PublishedSocket::Prepare(socket, flag));
  const bool listens = tcp != nullptr && tcp->listen;
  // gRPC sets these to 0, or leaves them, if it cannot listen.
  int socket_bound = 0;
  int tcp_port = 0;
  builder.AddListeningPort("unix:" + published->bind_path(),
                           grpc::InsecureServerCredentials(), &socket_bound);
  if (listens) {
    builder.AddListeningPort(FormatHostPort(*tcp->listen),
                             tcp->credentials == nullptr
                                 ? grpc::InsecureServerCredentials()
                                 : tcp->credentials,
                             &tcp_port);
  }
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (listens && tcp_port == 0 && socket_bound != 0) {
    return CannotListen(FormatHostPort(*tcp->listen),
                        "--listen HOST:PORT, or none");
  }
  if (server == nullptr || socket_bound == 0) {
    return CannotListen("unix:" + socket.path, absl::StrCat(flag, " PATH"));
  }
  MEMPLAN_RETURN_IF_ERROR(published->Publish());
  SetServing(*server);
  if (listens) {
    listen_ = tcp->listen;
    listen_->port = tcp_port;
  }
  roles_.push_back({std::move(published), std::move(server)});
  return absl::OkStatus();
}

void RpcServer::SetPartHealth(const std::string& name, bool healthy) {
  for (const Role& role : roles_) {
    role.server->GetHealthCheckService()->SetServingStatus(name, healthy);
  }
}

absl::Status RpcServer::CheckAnswers(std::chrono::milliseconds patience) {
  for (const Role& role : roles_) {
    MEMPLAN_RETURN_IF_ERROR(CheckServerAnswers(*role.server, patience));
  }
  return absl::OkStatus();
}

void RpcServer::StopServing() {
  // For good, whatever is set later.
  for (const Role& role : roles_) {
    role.server->GetHealthCheckService()->Shutdown();
  }
}

void RpcServer::Shutdown(std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::system_clock::now() + patience;
  for (const Role& role : roles_) role.server->Shutdown(deadline);
}

}  // namespace memplan
