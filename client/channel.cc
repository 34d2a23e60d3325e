#include "client/channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

namespace memplan {
namespace {

// A probe with many trials of many steps is far beyond gRPC's default of 4 MiB.
constexpr int kMaxAnswerBytes = 64 << 20;

constexpr char kServiceConfig[] = R"({"methodConfig": [{
  "name": [
    {"service": "memplan.v1.AdmissionService", "method": "Check"},
    {"service": "memplan.v1.AdmissionService", "method": "GetReservation"},
    {"service": "memplan.v1.AdmissionService", "method": "ListReservations"},
    {"service": "memplan.v1.ModelService", "method": "GetModel"},
    {"service": "memplan.v1.ModelService", "method": "ListModels"},
    {"service": "memplan.v1.DeviceService", "method": "ListDevices"},
    {"service": "memplan.v1.DeviceService", "method": "GetDevice"},
    {"service": "memplan.v1.ProbeService", "method": "GetProbe"},
    {"service": "memplan.v1.ProbeService", "method": "ListProbes"}],
  "retryPolicy": {
    "maxAttempts": 4, "initialBackoff": "0.2s", "maxBackoff": "1s",
    "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]})";

std::shared_ptr<grpc::ChannelCredentials> Credentials(
    const DaemonAddress& address, const TlsTexts& tls) {
  if (!address.socket_path.empty() || tls.ca.empty()) {
    return grpc::InsecureChannelCredentials();
  }
  return grpc::SslCredentials({.pem_root_certs = tls.ca,
                               .pem_private_key = tls.key,
                               .pem_cert_chain = tls.certificate});
}

}  // namespace

std::shared_ptr<grpc::Channel> MakeChannel(const DaemonAddress& address,
                                           const TlsTexts& tls) {
  grpc::ChannelArguments arguments;
  arguments.SetServiceConfigJSON(kServiceConfig);
  arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
  // The daemon is on this node or named outright, never behind a web proxy.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  if (address.socket_path.empty()) {
    // A network may lose a connection without a word; a unix socket cannot.
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  }
  return grpc::CreateCustomChannel(address.target, Credentials(address, tls),
                                   arguments);
}

}  // namespace memplan
