#include "server/jobs/call_runs.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "planner/base/status_macros.h"

namespace memplan {
namespace {

// One message holds them, whatever their arguments.
constexpr size_t kCallsAtOnce = 256;

}  // namespace

absl::Status CallRuns::Run(const std::vector<DistinctCall>& calls,
                           WorkerSession& worker,
                           std::chrono::milliseconds timeout) {
  plans_.resize(calls.size());
  is_known_.resize(calls.size());
  MEMPLAN_ASSIGN_OR_RETURN(const PreparedWorker prepared,
                           worker.WaitUntilPrepared());
  place_ = {.device_name = prepared.device.device_name,
            .driver_version = prepared.device.driver_version,
            .cudnn_version = prepared.device.cudnn_version,
            .torch_version = prepared.worker_version,
            .switches = switches_};
  if (kept_ != nullptr) {
    auto found = kept_->Find(place_, calls);
    for (size_t i = 0; i < calls.size(); ++i) {
      auto& kept = found[i];
      if (is_known_[i] || !kept) continue;
      plans_[i] = *std::move(kept);
      is_known_[i] = true;
    }
  }
  std::vector<size_t> chosen;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (!is_known_[i]) chosen.push_back(i);
    if (chosen.size() < kCallsAtOnce && i + 1 < calls.size()) continue;
    if (chosen.empty()) continue;
    MEMPLAN_RETURN_IF_ERROR(RunStretch(calls, chosen, worker, timeout));
    chosen.clear();
  }
  return absl::OkStatus();
}

absl::Status CallRuns::RunStretch(const std::vector<DistinctCall>& calls,
                                  const std::vector<size_t>& chosen,
                                  WorkerSession& worker,
                                  std::chrono::milliseconds timeout) {
  CallsOrder order{.calls = {.calls = {}, .cap = cap_}, .timeout = timeout};
  for (const size_t i : chosen) {
    order.calls.calls.push_back(calls[i]);
    order.calls.calls.back().calls.clear();
  }
  MEMPLAN_ASSIGN_OR_RETURN(gpu::CallsReport report, worker.RunCalls(order));
  std::vector<KeptPlans> plans;
  for (size_t k = 0; k < chosen.size(); ++k) {
    gpu::CallResult& result = report.results[k];
    if (result.plans.empty()) {
      spdlog::info("{} could not be run alone: {}",
                   calls[chosen[k]].operator_name, result.fault);
    }
    plans_[chosen[k]] = result.plans;
    is_known_[chosen[k]] = true;
    plans.push_back(std::move(result.plans));
  }
  if (kept_ != nullptr) kept_->Keep(place_, order.calls.calls, plans);
  return absl::OkStatus();
}

}  // namespace memplan
