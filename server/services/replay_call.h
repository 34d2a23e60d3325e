// One Replay: collects a trace's text, then replays it on the queue.
#ifndef MEMPLAN_SERVER_SERVICES_REPLAY_CALL_H_
#define MEMPLAN_SERVER_SERVICES_REPLAY_CALL_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "memplan/v1/plan_service.pb.h"
#include "planner/allocator/conditions.h"
#include "planner/base/bytes.h"
#include "server/services/collecting_reactor.h"

namespace memplan {

class ReplayCall final
    : public CollectingReactor<v1::ReplayRequest, v1::ReplayResponse> {
 public:
  using CollectingReactor::CollectingReactor;

 protected:
  absl::Status Take(v1::ReplayRequest& request) override;
  absl::Status Answer(v1::ReplayResponse& response) override;

 private:
  absl::Status TakeHeader(v1::ReplayHeader& header);

  std::optional<v1::ReplayHeader> header_;
  AllocatorConditions conditions_;  // the header's
  std::string text_;
  Bytes received_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_REPLAY_CALL_H_
