#include "server/program/rpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
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

absl::Status CannotListen(const std::string& address, const char* option) {
  return absl::UnavailableError(
      absl::StrCat("cannot listen on ", address,
                   "; is it in use? choose another with ", option));
}

}  // namespace

const std::vector<std::string>& ServiceNames() {
  static const std::vector<std::string> names = {
      "memplan.v1.DeviceService", "memplan.v1.ModelService",
      "memplan.v1.PlanService", "memplan.v1.ProbeService",
      "memplan.v1.ServerService"};
  return names;
}

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(
    const std::string& socket, const std::optional<HostPort>& listen,
    const RpcLimits& limits, CallCounts& counts,
    const std::vector<grpc::Service*>& services) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  SetChannelArguments(builder);
  SetLimits(builder, limits);
  std::vector<
      std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
      observers;
  observers.push_back(MakeCallObserver(counts));
  builder.experimental().SetInterceptorCreators(std::move(observers));
  // gRPC sets these to 0, or leaves them, if it cannot listen.
  int socket_bound = 0;
  int tcp_port = 0;
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials(),
                           &socket_bound);
  if (listen) {
    builder.AddListeningPort(FormatHostPort(*listen),
                             grpc::InsecureServerCredentials(), &tcp_port);
  }
  for (grpc::Service* service : services) builder.RegisterService(service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || socket_bound == 0 || (listen && tcp_port == 0)) {
    return socket_bound == 0
               ? CannotListen("unix:" + socket, "--socket PATH")
               : CannotListen(FormatHostPort(listen.value_or(HostPort{})),
                              "--listen HOST:PORT, or none");
  }
  for (const std::string& name : ServiceNames()) {
    server->GetHealthCheckService()->SetServingStatus(name, true);
  }
  std::optional<HostPort> listening = listen;
  if (listening) listening->port = tcp_port;
  return std::unique_ptr<RpcServer>(
      new RpcServer(std::move(server), std::move(listening)));
}

RpcServer::RpcServer(std::unique_ptr<grpc::Server> server,
                     std::optional<HostPort> listen)
    : server_(std::move(server)), listen_(std::move(listen)) {}

void RpcServer::SetPartHealth(const std::string& name, bool healthy) {
  server_->GetHealthCheckService()->SetServingStatus(name, healthy);
}

absl::Status RpcServer::CheckAnswers(std::chrono::milliseconds patience) {
  return CheckServerAnswers(*server_, patience);
}

void RpcServer::StopServing() {
  // For good, whatever is set later.
  server_->GetHealthCheckService()->Shutdown();
}

void RpcServer::Shutdown(std::chrono::milliseconds patience) {
  server_->Shutdown(std::chrono::system_clock::now() + patience);
}

}  // namespace memplan
