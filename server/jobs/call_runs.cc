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
// Where workers share them: few, since some calls take a hundred times as long as
// others, and a helper may come late.
constexpr size_t kSharedCallsAtOnce = 4;

}  // namespace

absl::Status CallRuns::Run(const std::vector<DistinctCall>& calls,
                           const std::vector<WorkerSession*>& workers,
                           std::chrono::milliseconds timeout) {
  plans_.resize(calls.size());
  is_known_.resize(calls.size());
  MEMPLAN_RETURN_IF_ERROR(FindKept(calls, *workers[0]));
  Pile pile{.places = Unknown()};
  if (pile.places.empty()) return absl::OkStatus();
  const size_t at_once = workers.size() > 1 ? kSharedCallsAtOnce : kCallsAtOnce;
  std::vector<Share> shares(workers.size());
  std::vector<std::thread> threads;
  for (size_t i = 1; i < workers.size(); ++i) {
    try {
      threads.emplace_back([&, i] {
        if (!workers[i]->WaitUntilPrepared().ok()) return;
        shares[i] = RunFrom(pile, at_once, calls, *workers[i], timeout);
      });
    } catch (const std::system_error& error) {
      spdlog::warn("operators are left to fewer workers: {}", error.what());
    }
  }
  shares[0] = RunFrom(pile, at_once, calls, *workers[0], timeout);
  for (std::thread& thread : threads) thread.join();
  const absl::Status first = shares[0].status;
  for (Share& share : shares) Learn(calls, std::move(share));
  MEMPLAN_RETURN_IF_ERROR(first);
  // What a helper had taken that was lost.
  Pile rest{.places = Unknown()};
  Share last = RunFrom(rest, kCallsAtOnce, calls, *workers[0], timeout);
  const absl::Status status = last.status;
  Learn(calls, std::move(last));
  return status;
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

CallRuns::Share CallRuns::RunFrom(Pile& pile, size_t at_once,
                                  const std::vector<DistinctCall>& calls,
                                  WorkerSession& worker,
                                  std::chrono::milliseconds timeout) const {
  Share share;
  while (true) {
    const size_t begin = pile.taken.fetch_add(at_once);
    const size_t end = std::min(pile.places.size(), begin + at_once);
    if (begin >= end) return share;
    CallsOrder order{.calls = {.calls = {}, .cap = cap_}, .timeout = timeout};
    for (size_t k = begin; k < end; ++k) {
      order.calls.calls.push_back(calls[pile.places[k]]);
      order.calls.calls.back().calls.clear();
    }
    absl::StatusOr<gpu::CallsReport> report = worker.RunCalls(order);
    share.status = report.status();
    if (!report.ok()) return share;
    share.places.insert(share.places.end(), pile.places.begin() + begin,
                        pile.places.begin() + end);
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
