#include "server/services/wait_reactor.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "server/base/reason.h"
#include "server/convert/probe_to_proto.h"
#include "server/services/refusals.h"
#include "server/services/rich_status.h"

namespace memplan {
namespace {

using std::chrono::milliseconds;

// How long the caller is to wait at most.
absl::StatusOr<milliseconds> PatienceOf(const v1::WaitProbeRequest& request,
                                        milliseconds longest) {
  if (!request.has_timeout()) return longest;
  const google::protobuf::Duration& timeout = request.timeout();
  if (timeout.seconds() < 0 || timeout.nanos() < 0) {
    return WithReason(absl::InvalidArgumentError(
                          "a wait is 0 seconds or longer; leave it out for the "
                          "longest"),
                      "INVALID_REQUEST", "timeout");
  }
  const auto most = std::chrono::ceil<std::chrono::seconds>(longest);
  const std::chrono::seconds seconds(
      std::min<int64_t>(timeout.seconds(), most.count()));
  return std::min(longest,
                  std::chrono::ceil<milliseconds>(
                      seconds + std::chrono::nanoseconds(timeout.nanos())));
}

}  // namespace

WaitReactor::WaitReactor(const WaitSupport& support,
                         absl::StatusOr<Place> place,
                         const v1::WaitProbeRequest& request,
                         v1::WaitProbeResponse& response)
    : support_(support),
      id_(request.id()),
      response_(response),
      place_(std::move(place)) {
  absl::Status begun;
  {
    const std::lock_guard lock(mutex_);
    begun = Guarded([&] { return Begin(request); });
  }
  if (!begun.ok()) End(begun);
}

absl::Status WaitReactor::Begin(const v1::WaitProbeRequest& request) {
  MEMPLAN_RETURN_IF_ERROR(place_.status());
  MEMPLAN_ASSIGN_OR_RETURN(const milliseconds patience,
                           PatienceOf(request, support_.longest));
  subscription_ = support_.jobs.WhenEnded(
      id_, [this](const ProbeJobs::ProbePtr& probe) { OnEnd(probe); });
  if (subscription_ == nullptr) return NoSuchProbe(id_);
  timer_ = support_.timers.Set(std::chrono::steady_clock::now() + patience,
                               [this] { OnTimeOver(); });
  return absl::OkStatus();
}

void WaitReactor::OnEnd(const ProbeJobs::ProbePtr& probe) {
  if (probe == nullptr) {
    End(ShuttingDownWhileFollowed());
  } else {
    AnswerWith(probe);
  }
}

void WaitReactor::OnTimeOver() {
  const ProbeJobs::ProbePtr probe = support_.jobs.Get(id_);
  if (probe == nullptr) {
    End(NoSuchProbe(id_));
  } else {
    AnswerWith(probe);
  }
}

void WaitReactor::OnCancel() {
  End(WithReason(absl::CancelledError("the client ended the wait"),
                 "CALL_CANCELLED"));
}

void WaitReactor::AnswerWith(const ProbeJobs::ProbePtr& probe) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(ended_, true)) return;
  Finish(ToGrpcStatus(Guarded([&] {
    *response_.mutable_probe() = ToProto(*probe);
    return absl::OkStatus();
  })));
}

void WaitReactor::End(const absl::Status& status) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(ended_, true)) return;
  Finish(ToGrpcStatus(status));
}

void WaitReactor::OnDone() {
  // Before it, all that was done with it held; after it, all calls.
  { const std::lock_guard lock(mutex_); }
  // Both wait for a call that is running.
  subscription_ = nullptr;
  if (timer_) support_.timers.Cancel(*timer_);
  { const std::lock_guard lock(mutex_); }
  delete this;
}

}  // namespace memplan
