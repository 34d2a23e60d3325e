// The plans of irregular calls at any batch, from those that were run: at a batch
// whose calls were run, exactly what they showed; near one, the same plans with
// scaled sizes; far from all, none.
#ifndef MEMPLAN_PLANNER_PLAN_NEARBY_CALL_PLANS_H_
#define MEMPLAN_PLANNER_PLAN_NEARBY_CALL_PLANS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "planner/plan/known_calls.h"
#include "planner/plan/plan_scaling.h"
#include "planner/plan/predicted_answer.h"
#include "planner/plan/prediction_search.h"
#include "planner/trace/call_plan.h"
#include "planner/trace/irregular_calls.h"
#include "planner/trace/shape.h"
#include "planner/trace/symbolic_trace.h"

namespace memplan {

// Not thread-safe. Both arguments of Create outlive it and stay as they are.
class NearbyCallPlans final : public CallPlanSource {
 public:
  // The symbolic trace has one dimension, the batch. kInvalidArgument if not.
  static absl::StatusOr<NearbyCallPlans> Create(const SymbolicTrace& symbolic,
                                                const KnownCalls& known);

  const CallPlans* At(const Shape& shape) override;
  std::unique_ptr<CallPlanSource> Copy() const override {
    return std::make_unique<NearbyCallPlans>(*this);
  }

  // How the calls of `batch` are known.
  CallKnowledge KnowledgeAt(int64_t batch);

  // Different irregular calls, at the batch known last.
  int64_t distinct_calls() const;

 private:
  // The calls of a batch that was run, and what each of the symbolic trace did.
  struct KnownBatch {
    const CallPlansOrNone& PlansOf(uint32_t call) const {
      return plans[of_call[call]];
    }

    std::vector<DistinctCall> distinct;
    std::vector<CallPlansOrNone> plans;  // of each distinct call
    std::vector<uint32_t> of_call;       // of each call: which it is
  };

  NearbyCallPlans(const SymbolicTrace& symbolic, const KnownCalls& known)
      : symbolic_(symbolic), known_(known) {}

  absl::Status ReadRecorded();
  absl::Status AddBatch(int64_t batch);
  // Up to the first that does not go with the call.
  CallPlansOrNone UsablePlans(const DistinctCall& call) const;
  // Null: all are too far.
  const KnownBatch* NearestTo(int64_t batch) const;
  // What `call` does at `batch`; none: unknown. Lowers `knowledge_`.
  std::vector<CallPlan> PlansOf(uint32_t call, int64_t batch);
  const std::vector<ScalablePlan>& Scalable(uint32_t call, int64_t nearest);

  const SymbolicTrace& symbolic_;
  const KnownCalls& known_;
  std::map<int64_t, KnownBatch> batches_;
  // The plans of a call at the known batch that is nearest; as they are asked for.
  absl::flat_hash_map<std::pair<int64_t, uint32_t>, std::vector<ScalablePlan>>
      scalable_;
  std::vector<CallPlan> recorded_;  // by call, in the largest recording
  int64_t recorded_batch_ = 0;
  CallPlans plans_;  // of the last At
  CallKnowledge knowledge_ = CallKnowledge::kAssumed;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_NEARBY_CALL_PLANS_H_
