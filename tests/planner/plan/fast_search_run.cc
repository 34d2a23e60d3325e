#include "tests/planner/plan/fast_search_run.h"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "planner/allocator/address_source.h"
#include "planner/allocator/caching_allocator.h"
#include "planner/plan/batch_search.h"
#include "planner/plan/stream_replay.h"

namespace memplan::testing {
namespace {

class Runner {
 public:
  Runner(FastSearch& search, const FastSearchOptions& options,
         const CappedDevice& device, const TrialFate& fate)
      : search_(search), options_(options), device_(device), fate_(fate) {}

  FastRun Run() {
    for (int i = 0; i < 1000; ++i) {
      const std::clock_t begun = std::clock();
      const FastDecision decision = search_.Next();
      run_.decision_seconds +=
          static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
      ++run_.decisions;
      if (const auto* answer = std::get_if<SearchAnswer>(&decision)) {
        run_.answer = *answer;
        break;
      }
      if (const auto* fall_back = std::get_if<FallBack>(&decision)) {
        run_.fell_back = fall_back->reason;
        break;
      }
      Do(decision);
    }
    run_.trials.assign(search_.trials().begin(), search_.trials().end());
    run_.predicted = search_.predicted();
    if (!run_.fell_back.empty()) Bisect();
    return run_;
  }

 private:
  void Do(const FastDecision& decision) {
    if (const auto* record = std::get_if<RecordBatch>(&decision)) {
      Trial trial = TrialAt(record->batch, TrialPurpose::kRecord);
      auto trace = TraceOf(trial);
      search_.AddRecording(std::move(trial), std::move(trace));
    } else if (const auto* run = std::get_if<RunBatch>(&decision)) {
      EXPECT_EQ(run->purpose, TrialPurpose::kVerify);
      if (SafeBatch() == run->batch) run_.foretold.push_back(Predicted());
      Trial trial = TrialAt(run->batch, run->purpose);
      auto trace = TraceOf(trial);
      search_.AddVerification(std::move(trial), std::move(trace));
    } else {
      const auto& order = std::get<RunCallsAt>(decision);
      EXPECT_FALSE(order.calls.empty());
      if (IsLastOfCalls(order)) run_.foretold.push_back(Predicted());
      run_.call_batches.push_back(order.batch);
      run_.calls_run += std::ssize(order.calls);
      std::vector<CallPlansOrNone> results;
      for (const DistinctCall& call : order.calls) {
        results.push_back(device_.program().RunCall(call));
      }
      EXPECT_TRUE(search_.AddCalls(order, std::move(results)).ok());
    }
  }

  const PredictedAnswer& Predicted() const {
    return search_.predicted().value();
  }

  int64_t SafeBatch() const {
    return search_.predicted().has_value() ? Predicted().safe.batch : 0;
  }

  // Those of the answer and of the batch above it are known with these.
  bool IsLastOfCalls(const RunCallsAt& order) const {
    const int64_t safe = SafeBatch();
    if (order.batch != safe && order.batch != safe + 1) return false;
    const int64_t other = order.batch == safe ? safe + 1 : safe;
    return std::count(run_.call_batches.begin(), run_.call_batches.end(),
                      other) > 0;
  }

  Trial TrialAt(int64_t batch, TrialPurpose purpose) {
    const int nth = runs_of_[batch]++;
    std::optional<Trial> fated;
    if (fate_) fated = fate_(batch, purpose, nth);
    Trial trial = fated.value_or(Trial());
    trial.batch = batch;
    trial.purpose = purpose;
    if (!fated.has_value() && !device_.Runs(batch)) {
      trial.outcome = TrialOutcome::kOutOfMemory;
      trial.steps.emplace_back().failed_requests = 1;
    }
    return trial;
  }

  std::optional<Trace> TraceOf(const Trial& trial) const {
    if (trial.outcome != TrialOutcome::kFits || trial.trace_overflowed) {
      return std::nullopt;
    }
    return device_.program().TraceAt(trial.batch);
  }

  void Bisect() {
    while (run_.trials.size() < kMaxSearchTrials) {
      const SearchDecision decision = DecideNext(options_.search, run_.trials);
      if (const auto* answer = std::get_if<SearchAnswer>(&decision)) {
        run_.answer = *answer;
        return;
      }
      const auto& order = std::get<RunBatch>(decision);
      run_.trials.push_back(TrialAt(order.batch, order.purpose));
    }
    ADD_FAILURE() << "bisection did not end";
  }

  FastSearch& search_;
  const FastSearchOptions& options_;
  const CappedDevice& device_;
  const TrialFate& fate_;
  std::map<int64_t, int> runs_of_;
  FastRun run_;
};

}  // namespace

bool CappedDevice::Runs(int64_t batch) const {
  const auto known = runs_.find(batch);
  if (known != runs_.end()) return known->second;
  AllocatorConditions conditions;
  conditions.cap = cap_;
  ChunkAddresses addresses;
  CachingAllocator allocator(conditions, addresses);
  return runs_[batch] =
             StreamReplay(allocator).Run(program_.StreamAt(batch)).Runs();
}

int64_t CappedDevice::SafeBatch(int64_t max_batch) const {
  int64_t batch = 0;
  while (batch < max_batch && Runs(batch + 1)) ++batch;
  return batch;
}

std::vector<int64_t> FastRun::Batches() const {
  std::vector<int64_t> batches;
  for (const Trial& trial : trials) batches.push_back(trial.batch);
  return batches;
}

int64_t FastRun::OutOfMemoryCount() const {
  return std::count_if(trials.begin(), trials.end(), [](const Trial& trial) {
    return trial.outcome == TrialOutcome::kOutOfMemory;
  });
}

FastRun RunFastSearch(FastSearch& search, const FastSearchOptions& options,
                      const CappedDevice& device, const TrialFate& fate) {
  return Runner(search, options, device, fate).Run();
}

FastRun RunFastSearch(const FastSearchOptions& options,
                      const CappedDevice& device, const TrialFate& fate) {
  FastSearchOptions capped = options;
  capped.conditions.cap = device.cap();
  FastSearch search(capped);
  return RunFastSearch(search, capped, device, fate);
}

}  // namespace memplan::testing
