#include "server/services/watch_reactor.h"

#include <utility>

#include "server/base/reason.h"
#include "server/convert/probe_to_proto.h"
#include "server/services/refusals.h"
#include "server/services/rich_status.h"

namespace memplan {

WatchReactor::WatchReactor(ProbeJobs& jobs,
                           const v1::WatchProbeRequest& request,
                           absl::StatusOr<Place> place)
    : known_version_(request.after_version()), place_(std::move(place)) {
  const absl::Status subscribed = Guarded([&] {
    if (!place_.ok()) return place_.status();
    subscription_ = jobs.Watch(request.id(), [this](ProbeJobs::ProbePtr probe) {
      OnChange(std::move(probe));
    });
    return subscription_ ? absl::OkStatus() : NoSuchProbe(request.id());
  });
  if (!subscribed.ok()) {
    const std::lock_guard lock(mutex_);
    End(subscribed);
  }
}

void WatchReactor::OnChange(ProbeJobs::ProbePtr probe) {
  const std::lock_guard lock(mutex_);
  shutting_down_ = shutting_down_ || probe == nullptr;
  if (probe != nullptr) Take(std::move(probe));
  Advance();
}

void WatchReactor::Take(ProbeJobs::ProbePtr probe) {
  // The first is the probe as it is: what is above that never was, unless the
  // store is an older copy.
  if (!std::exchange(told_, true) && known_version_ > probe->version) {
    known_version_ = 0;
  }
  if (probe->version > known_version_) {
    newest_ = std::move(probe);
  } else if (newest_ == nullptr && !writing_) {
    final_sent_ = HasEnded(probe->state);
  }
}

void WatchReactor::OnWriteDone(bool ok) {
  const std::lock_guard lock(mutex_);
  writing_ = false;
  cancelled_ = cancelled_ || !ok;
  Advance();
}

void WatchReactor::OnCancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  Advance();
}

void WatchReactor::OnDone() {
  subscription_ = nullptr;  // waits for an OnChange that is running
  // As the last to hold it, and after all that was done with it held.
  { const std::lock_guard lock(mutex_); }
  delete this;
}

void WatchReactor::Advance() {
  if (writing_ || ended_) return;
  if (cancelled_) {
    End(WithReason(absl::CancelledError("the client ended the watch"),
                   "CALL_CANCELLED"));
  } else if (newest_ != nullptr) {
    const absl::Status started = Guarded([this] { return StartNewest(); });
    if (!started.ok()) End(started);
  } else if (final_sent_) {
    End(absl::OkStatus());
  } else if (shutting_down_) {
    End(ShuttingDownWhileFollowed());
  }
}

absl::Status WatchReactor::StartNewest() {
  const ProbeJobs::ProbePtr probe = std::move(newest_);
  newest_ = nullptr;
  *response_.mutable_probe() = ToProto(*probe);
  final_sent_ = HasEnded(probe->state);
  writing_ = true;
  StartWrite(&response_);
  return absl::OkStatus();
}

void WatchReactor::End(const absl::Status& status) {
  ended_ = true;
  Finish(ToGrpcStatus(status));
}

}  // namespace memplan
