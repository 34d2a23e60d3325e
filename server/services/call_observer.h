// Sees every call of a gRPC server: counts it, gives it a request id, writes a
// line to the log when it ends.
//
// The request id is the client's own (metadata `x-request-id`, at most 64
// visible ASCII characters) or a new one; the client gets it back under the same
// name with the initial metadata.
#ifndef MEMPLAN_SERVER_SERVICES_CALL_OBSERVER_H_
#define MEMPLAN_SERVER_SERVICES_CALL_OBSERVER_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_interceptor.h>

#include <memory>
#include <string>
#include <vector>

#include "server/base/call_counts.h"

namespace memplan {

inline constexpr char kRequestIdName[] = "x-request-id";

// The methods of the services with these full names, as their descriptors say.
std::vector<CallMethod> MethodsOf(const std::vector<std::string>& services);

// For grpc::ServerBuilder. `counts` must outlive the server.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
MakeCallObserver(CallCounts& counts);

// The id of the call that a handler answers; empty without an observer.
std::string RequestIdOf(const grpc::CallbackServerContext& context);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_CALL_OBSERVER_H_
