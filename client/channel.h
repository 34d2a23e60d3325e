// The gRPC channel a client talks through: limits, keepalive, and which calls
// gRPC itself repeats.
#ifndef MEMPLAN_CLIENT_CHANNEL_H_
#define MEMPLAN_CLIENT_CHANNEL_H_

#include <grpcpp/channel.h>

#include <memory>

#include "client/address.h"
#include "client/tls.h"

namespace memplan {

// A channel that connects at its first call. Unary reads that end in UNAVAILABLE
// are sent up to four times within about a second; nothing else is repeated.
// Over TCP with TLS if `tls` has texts; a unix socket needs none.
std::shared_ptr<grpc::Channel> MakeChannel(const DaemonAddress& address,
                                           const TlsTexts& tls);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CHANNEL_H_
