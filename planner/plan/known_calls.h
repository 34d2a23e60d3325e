// What runs of irregular calls alone have shown, each distinct call once. Kept by
// what the call is, not by where it stands, so that it outlives the symbolic trace
// that asked for it.
#ifndef MEMPLAN_PLANNER_PLAN_KNOWN_CALLS_H_
#define MEMPLAN_PLANNER_PLAN_KNOWN_CALLS_H_

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "planner/trace/call_plan.h"
#include "planner/trace/irregular_calls.h"

namespace memplan {

// Of one call: what it does as it likes, then what it does when memory for that
// is refused, and so on; empty if it could not be run.
using CallPlansOrNone = std::vector<CallPlan>;

// A value. Not thread-safe while it changes.
class KnownCalls {
 public:
  // `results[i]` is of `calls[i]`, which are calls of `batch`. kInvalidArgument,
  // and nothing is kept, if there are not as many, or a call has no signature.
  absl::Status Add(int64_t batch, std::span<const DistinctCall> calls,
                   std::vector<CallPlansOrNone> results);

  // Null: nobody has run it.
  const CallPlansOrNone* Find(const DistinctCall& call) const;

  // Those of `calls` that can be run and have not been.
  std::vector<DistinctCall> Unknown(std::vector<DistinctCall> calls) const;

  // Every call of this batch that can be run has been, if for another batch.
  // False: that was known.
  bool AddBatch(int64_t batch) { return batches_.insert(batch).second; }

  // Whose calls were run.
  const std::set<int64_t>& batches() const { return batches_; }

 private:
  absl::flat_hash_map<std::string, CallPlansOrNone> plans_;  // by CallKey
  std::set<int64_t> batches_;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_KNOWN_CALLS_H_
