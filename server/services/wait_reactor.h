// One wait for a probe's end: answers when it has ended or the time is over,
// whichever is first. Waiting takes no thread, only a place among the job
// queue's subscriptions and one among the timers.
//
//   ended ──────┐
//   time over ──┼─▶ the first answers ─▶ done: both places are given back
//   client gone ┤
//   shutdown ───┘
#ifndef MEMPLAN_SERVER_SERVICES_WAIT_REACTOR_H_
#define MEMPLAN_SERVER_SERVICES_WAIT_REACTOR_H_

#include <grpcpp/support/server_callback.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "memplan/v1/probe_service.pb.h"
#include "server/base/timers.h"
#include "server/jobs/probe_jobs.h"
#include "server/services/places.h"

namespace memplan {

// What all waits share. Outlives them.
struct WaitSupport {
  ProbeJobs& jobs;
  Timers& timers;
  std::chrono::milliseconds longest;
};

// Owns itself: made by a handler, gone once gRPC is done with it. What ends it
// comes on any thread; one mutex orders that.
class WaitReactor final : public grpc::ServerUnaryReactor {
 public:
  // `response` lives until the call is done. To be made within the handler.
  WaitReactor(const WaitSupport& support, absl::StatusOr<Place> place,
              const v1::WaitProbeRequest& request,
              v1::WaitProbeResponse& response);

  void OnCancel() override;
  void OnDone() override;

 private:
  // With mutex_ held.
  absl::Status Begin(const v1::WaitProbeRequest& request);
  void OnEnd(const ProbeJobs::ProbePtr& probe);  // null at shutdown
  void OnTimeOver();
  // The first of them ends the call.
  void AnswerWith(const ProbeJobs::ProbePtr& probe);
  void End(const absl::Status& status);

  const WaitSupport support_;
  const std::string id_;
  v1::WaitProbeResponse& response_;
  const absl::StatusOr<Place> place_;

  std::mutex mutex_;
  bool ended_ = false;  // under mutex_

  // Set before any reaction, reset in OnDone.
  std::unique_ptr<ProbeJobs::Subscription> subscription_;
  std::optional<Timers::Id> timer_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_WAIT_REACTOR_H_
