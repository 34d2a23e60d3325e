// One Estimate: collects the traces of several batches, then estimates another
// batch from them on the queue.
#ifndef MEMPLAN_SERVER_SERVICES_ESTIMATE_CALL_H_
#define MEMPLAN_SERVER_SERVICES_ESTIMATE_CALL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "memplan/v1/plan_service.pb.h"
#include "planner/allocator/conditions.h"
#include "planner/base/bytes.h"
#include "planner/trace/trace.h"
#include "server/services/collecting_reactor.h"

namespace memplan {

class EstimateCall final
    : public CollectingReactor<v1::EstimateRequest, v1::EstimateResponse> {
 public:
  using CollectingReactor::CollectingReactor;

 protected:
  absl::Status Take(v1::EstimateRequest& request) override;
  absl::Status Answer(v1::EstimateResponse& response) override;

 private:
  struct BatchText {
    int64_t batch = 0;
    std::string text;
  };

  absl::Status TakeHeader(v1::EstimateHeader& header);
  absl::Status TakeTrace(int64_t batch);
  absl::Status TakeChunk(const std::string& chunk);
  // The traces of `texts_`, whose texts are let go.
  absl::StatusOr<std::vector<Trace>> ReadTraces();

  std::optional<v1::EstimateHeader> header_;
  AllocatorConditions conditions_;  // the header's
  std::vector<BatchText> texts_;
  Bytes received_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_ESTIMATE_CALL_H_
