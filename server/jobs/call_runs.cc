#include "server/jobs/call_runs.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "planner/base/status_macros.h"

namespace memplan {
namespace {

// One message holds them, whatever their arguments.
constexpr size_t kCallsAtOnce = 256;
// Fewer are not worth a worker of their own.
constexpr size_t kLeastShare = 4;

}  // namespace

absl::Status CallRuns::Run(const std::vector<DistinctCall>& calls,
                           const std::vector<WorkerSession*>& workers,
                           std::chrono::milliseconds timeout) {
  plans_.resize(calls.size());
  is_known_.resize(calls.size());
  MEMPLAN_RETURN_IF_ERROR(FindKept(calls, *workers[0]));
  const std::vector<size_t> unknown = Unknown();
  std::vector<Share> shares(
      std::clamp<size_t>(unknown.size() / kLeastShare, 1, workers.size()));
  // In turns, since neighbours in a model cost alike.
  for (size_t k = 0; k < unknown.size(); ++k) {
    shares[k % shares.size()].places.push_back(unknown[k]);
  }
  std::vector<std::thread> threads;
  for (size_t i = 1; i < shares.size(); ++i) {
    try {
      threads.emplace_back([&, i] {
        shares[i].status = workers[i]->WaitUntilPrepared().status();
        if (!shares[i].status.ok()) return;
        RunShare(calls, *workers[i], timeout, shares[i]);
      });
    } catch (const std::system_error& error) {
      spdlog::warn("a worker's share of operators is left to another: {}",
                   error.what());
    }
  }
  RunShare(calls, *workers[0], timeout, shares[0]);
  for (std::thread& thread : threads) thread.join();
  const absl::Status first = shares[0].status;
  for (Share& share : shares) Learn(calls, std::move(share));
  MEMPLAN_RETURN_IF_ERROR(first);
  Share rest{.places = Unknown(), .results = {}, .status = {}};
  if (rest.places.empty()) return absl::OkStatus();
  RunShare(calls, *workers[0], timeout, rest);
  const absl::Status last = rest.status;
  Learn(calls, std::move(rest));
  return last;
}

absl::Status CallRuns::FindKept(const std::vector<DistinctCall>& calls,
                                WorkerSession& worker) {
  MEMPLAN_ASSIGN_OR_RETURN(const PreparedWorker prepared,
                           worker.WaitUntilPrepared());
  place_ = {.device_name = prepared.device.device_name,
            .driver_version = prepared.device.driver_version,
            .cudnn_version = prepared.device.cudnn_version,
            .torch_version = prepared.worker_version,
            .switches = switches_};
  if (kept_ == nullptr) return absl::OkStatus();
  auto found = kept_->Find(place_, calls);
  for (size_t i = 0; i < calls.size(); ++i) {
    auto& kept = found[i];
    if (is_known_[i] || !kept) continue;
    plans_[i] = *std::move(kept);
    is_known_[i] = true;
  }
  return absl::OkStatus();
}

std::vector<size_t> CallRuns::Unknown() const {
  std::vector<size_t> unknown;
  for (size_t i = 0; i < is_known_.size(); ++i) {
    if (!is_known_[i]) unknown.push_back(i);
  }
  return unknown;
}

void CallRuns::RunShare(const std::vector<DistinctCall>& calls,
                        WorkerSession& worker,
                        std::chrono::milliseconds timeout, Share& share) const {
  while (share.results.size() < share.places.size()) {
    CallsOrder order{.calls = {.calls = {}, .cap = cap_}, .timeout = timeout};
    const size_t end =
        std::min(share.places.size(), share.results.size() + kCallsAtOnce);
    for (size_t k = share.results.size(); k < end; ++k) {
      order.calls.calls.push_back(calls[share.places[k]]);
      order.calls.calls.back().calls.clear();
    }
    absl::StatusOr<gpu::CallsReport> report = worker.RunCalls(order);
    share.status = report.status();
    if (!report.ok()) return;
    std::move(report->results.begin(), report->results.end(),
              std::back_inserter(share.results));
  }
}

void CallRuns::Learn(const std::vector<DistinctCall>& calls, Share share) {
  std::vector<DistinctCall> ran;
  std::vector<KeptPlans> plans;
  for (size_t k = 0; k < share.results.size(); ++k) {
    const size_t place = share.places[k];
    gpu::CallResult& result = share.results[k];
    if (result.plans.empty()) {
      spdlog::info("{} could not be run alone: {}", calls[place].operator_name,
                   result.fault);
    }
    plans_[place] = result.plans;
    is_known_[place] = true;
    ran.push_back(calls[place]);
    ran.back().calls.clear();
    plans.push_back(std::move(result.plans));
  }
  if (kept_ != nullptr && !ran.empty()) kept_->Keep(place_, ran, plans);
}

}  // namespace memplan
