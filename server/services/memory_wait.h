// One call that waits for memory: answered by Admission, or dropped from its
// line when the client goes away.
//
//   admission's answer ──┐
//   client gone ─────────┴─▶ the first ends the call
#ifndef MEMPLAN_SERVER_SERVICES_MEMORY_WAIT_H_
#define MEMPLAN_SERVER_SERVICES_MEMORY_WAIT_H_

#include <grpcpp/support/server_callback.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "memplan/v1/admission_service.pb.h"
#include "server/admission/admission.h"
#include "server/services/places.h"

namespace memplan {

// Owns itself: made by a handler, gone once gRPC is done with it and admission
// has let go of it.
class MemoryWait final : public grpc::ServerUnaryReactor {
 public:
  // `request` and `response` live until the call is done. To be made within the
  // handler. `admission` outlives it.
  MemoryWait(Admission& admission, std::chrono::milliseconds longest,
             absl::StatusOr<Place> place,
             const v1::WaitForMemoryRequest& request,
             v1::WaitForMemoryResponse& response);

  void OnCancel() override;
  void OnDone() override;

 private:
  // What the answer and the call share; it outlives either.
  struct Call {
    std::mutex mutex;
    MemoryWait* reactor;  // under mutex; null once the call has ended
  };

  absl::Status Begin(const v1::WaitForMemoryRequest& request,
                     std::chrono::milliseconds longest);
  // With the call's mutex held, once.
  void End(const absl::Status& status);

  Admission& admission_;
  v1::WaitForMemoryResponse& response_;
  absl::StatusOr<Place> place_;
  const std::shared_ptr<Call> call_;
  int64_t number_ = 0;  // in admission's line; under the call's mutex
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_MEMORY_WAIT_H_
