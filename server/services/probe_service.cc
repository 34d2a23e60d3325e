#include "server/services/probe_service.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/base/status_macros.h"
#include "server/convert/probe_to_proto.h"
#include "server/services/call_observer.h"
#include "server/services/page.h"
#include "server/services/refusals.h"
#include "server/services/unary_answer.h"
#include "server/services/wait_reactor.h"
#include "server/services/watch_reactor.h"

namespace memplan {
namespace {

using ProbePtr = ProbeJobs::ProbePtr;

// Ends a call whose response has one probe.
template <typename Response>
ProbeJobs::ProbeCallback AnswerWithProbe(const UnaryAnswer& answer,
                                         Response* response) {
  return [answer, response](const absl::StatusOr<ProbePtr>& probe) {
    answer.Finish([&] {
      if (probe.ok()) *response->mutable_probe() = ToProto(**probe);
      return probe.status();
    });
  };
}

absl::Status FillPage(const std::vector<ProbePtr>& probes,
                      const v1::ListProbesRequest& request,
                      v1::ListProbesResponse& response) {
  std::vector<PageKey> keys;
  keys.reserve(probes.size());
  for (const ProbePtr& probe : probes) {
    keys.push_back({.id = probe->id, .create_time = probe->create_time});
  }
  MEMPLAN_ASSIGN_OR_RETURN(
      const Page page,
      FindPage(request.page_size(), request.page_token(), keys));
  size_t bytes = 0;
  size_t end = page.begin;
  for (; end < probes.size() && end < page.begin + page.size; ++end) {
    v1::Probe proto = ToProtoWithoutTrials(*probes[end]);
    bytes += proto.ByteSizeLong();
    if (bytes > kMaxPageBytes && response.probes_size() > 0) break;
    *response.add_probes() = std::move(proto);
  }
  if (end > 0 && end < probes.size()) {
    response.set_next_page_token(PageToken(keys[end - 1]));
  }
  return absl::OkStatus();
}

}  // namespace

grpc::ServerUnaryReactor* ProbeService::CreateProbe(
    grpc::CallbackServerContext* context, const v1::CreateProbeRequest* request,
    v1::CreateProbeResponse* response) {
  return AnswerLater(context, [&](const UnaryAnswer& answer) {
    return std::make_shared<ProbeCreation>(
               support_, answer, RequestIdOf(*context), *request, *response)
        ->Start();
  });
}

grpc::ServerUnaryReactor* ProbeService::GetProbe(
    grpc::CallbackServerContext* context, const v1::GetProbeRequest* request,
    v1::GetProbeResponse* response) {
  return AnswerNow(context, [&] {
    const ProbePtr probe = jobs_.Get(request->id());
    if (probe == nullptr) return NoSuchProbe(request->id());
    *response->mutable_probe() = ToProto(*probe);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* ProbeService::ListProbes(
    grpc::CallbackServerContext* context, const v1::ListProbesRequest* request,
    v1::ListProbesResponse* response) {
  return AnswerNow(context,
                   [&] { return FillPage(jobs_.List(), *request, *response); });
}

grpc::ServerWriteReactor<v1::WatchProbeResponse>* ProbeService::WatchProbe(
    grpc::CallbackServerContext* context,
    const v1::WatchProbeRequest* request) {
  // Deletes itself.
  return new WatchReactor(jobs_, *request,
                          support_.watches.Take(ClientOf(*context)));
}

grpc::ServerUnaryReactor* ProbeService::WaitProbe(
    grpc::CallbackServerContext* context, const v1::WaitProbeRequest* request,
    v1::WaitProbeResponse* response) {
  // Deletes itself.
  return new WaitReactor({jobs_, timers_, support_.longest_wait},
                         support_.watches.Take(ClientOf(*context)), *request,
                         *response);
}

grpc::ServerUnaryReactor* ProbeService::CancelProbe(
    grpc::CallbackServerContext* context, const v1::CancelProbeRequest* request,
    v1::CancelProbeResponse* response) {
  return AnswerLater(context, [&](const UnaryAnswer& answer) {
    jobs_.Cancel(request->id(), AnswerWithProbe(answer, response));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* ProbeService::DeleteProbe(
    grpc::CallbackServerContext* context, const v1::DeleteProbeRequest* request,
    v1::DeleteProbeResponse* /*response*/) {
  return AnswerLater(context, [&](const UnaryAnswer& answer) {
    jobs_.Delete(request->id(), [answer](const absl::Status& deleted) {
      answer.Finish(deleted);
    });
    return absl::OkStatus();
  });
}

}  // namespace memplan
