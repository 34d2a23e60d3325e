// One watch of a probe: sends the probe as it is, then again at each change, and
// ends after the final state. A client that reads slowly gets the newest version
// when it is ready for it, never a backlog.
//
//   change ─▶ newest ─▶ writing ─▶ written ─▶ (newer? write it : wait)
//                                     └─ final state written ─▶ end with OK
#ifndef MEMPLAN_SERVER_SERVICES_WATCH_REACTOR_H_
#define MEMPLAN_SERVER_SERVICES_WATCH_REACTOR_H_

#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "memplan/v1/probe_service.pb.h"
#include "server/jobs/probe_jobs.h"
#include "server/services/places.h"

namespace memplan {

// Owns itself: made by a handler, gone once gRPC is done with it. Changes come
// on the job queue's threads, the rest on gRPC's; one mutex orders them.
class WatchReactor final
    : public grpc::ServerWriteReactor<v1::WatchProbeResponse> {
 public:
  // Subscribes, or ends the call for want of a place or with PROBE_NOT_FOUND. To
  // be made within the handler: gRPC holds what it starts back until the handler
  // returns it. Sends nothing until the probe's version is above the request's
  // after_version.
  WatchReactor(ProbeJobs& jobs, const v1::WatchProbeRequest& request,
               absl::StatusOr<Place> place);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // Null: the daemon is shutting down.
  void OnChange(ProbeJobs::ProbePtr probe);
  void Take(ProbeJobs::ProbePtr probe);
  // Starts whatever comes next, if nothing is under way. With `mutex_` held.
  void Advance();
  absl::Status StartNewest();
  void End(const absl::Status& status);

  std::mutex mutex_;
  // All below under `mutex_`.
  ProbeJobs::ProbePtr newest_;  // not yet sent
  int64_t known_version_;       // to the client
  bool told_ = false;           // by the job queue, of any version
  v1::WatchProbeResponse response_;
  bool writing_ = false;
  bool final_sent_ = false;
  bool shutting_down_ = false;
  bool cancelled_ = false;
  bool ended_ = false;

  const absl::StatusOr<Place> place_;
  // Set before any reaction, reset in OnDone.
  std::unique_ptr<ProbeJobs::Subscription> subscription_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_WATCH_REACTOR_H_
