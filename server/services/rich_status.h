// Statuses as gRPC sends them: code and words in the status itself, the typed
// details beside them. And the guard that every handler works behind, since an
// exception that left one would reach the client as UNIMPLEMENTED.
#ifndef MEMPLAN_SERVER_SERVICES_RICH_STATUS_H_
#define MEMPLAN_SERVER_SERVICES_RICH_STATUS_H_

#include <grpcpp/support/status.h>

#include <functional>

#include "absl/status/status.h"

namespace memplan {

// `status` with the details of convert/rpc_status.h; OK stays OK.
grpc::Status ToGrpcStatus(const absl::Status& status);

// What `work` returns; kInternal (INTERNAL_ERROR), which is logged, if it throws.
absl::Status Guarded(const std::function<absl::Status()>& work) noexcept;

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_RICH_STATUS_H_
