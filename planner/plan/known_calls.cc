#include "planner/plan/known_calls.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace memplan {

absl::Status KnownCalls::Add(int64_t batch, std::span<const DistinctCall> calls,
                             std::vector<CallPlansOrNone> results) {
  if (results.size() != calls.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(results.size(), " results for ", calls.size(),
                     " calls; give one for each, empty if it could not be "
                     "run"));
  }
  for (const DistinctCall& call : calls) {
    if (call.has_signature) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("a call of ", call.operator_name,
                     " has no signature, so that no result can be its own"));
  }
  for (size_t i = 0; i < calls.size(); ++i) {
    plans_[CallKey(calls[i])] = std::move(results[i]);
  }
  batches_.insert(batch);
  return absl::OkStatus();
}

const CallPlansOrNone* KnownCalls::Find(const DistinctCall& call) const {
  if (!call.has_signature) return nullptr;
  const auto found = plans_.find(CallKey(call));
  return found == plans_.end() ? nullptr : &found->second;
}

std::vector<DistinctCall> KnownCalls::Unknown(
    std::vector<DistinctCall> calls) const {
  std::erase_if(calls, [&](const DistinctCall& call) {
    return !call.has_signature || Find(call) != nullptr;
  });
  for (DistinctCall& call : calls) call.calls.clear();
  return calls;
}

}  // namespace memplan
