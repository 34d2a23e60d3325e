#include "planner/plan/nearby_call_plans.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "planner/trace/event.h"
#include "planner/trace/instantiation.h"
#include "planner/trace/request_stream.h"

namespace memplan {
namespace {

// Plans are scaled this far, or half the batch where that is more: as far as a
// search replays around its answer.
constexpr int64_t kReach = 64;

bool IsInReach(int64_t known, int64_t batch) {
  return std::abs(known - batch) <= std::max(kReach, known / 2);
}

Shape ShapeOf(const SymbolicTrace& symbolic, int64_t batch) {
  return {{symbolic.dimensions.front(), batch}};
}

// What the call's own requests in `stream` are as a plan.
CallPlan PlanIn(const RequestStream& stream, const StreamCall& call) {
  CallPlan plan;
  std::map<uint32_t, uint32_t> numbers;  // by block
  for (uint32_t i = call.requests.begin; i < call.requests.end; ++i) {
    const Request& request = stream.requests[i];
    if (request.kind == RequestKind::kAlloc && request.bytes > 0) {
      const auto number = static_cast<uint32_t>(numbers.size());
      numbers[request.block] = number;
      plan.push_back({number, request.bytes});
    } else if (request.kind == RequestKind::kFree) {
      const auto own = numbers.find(request.block);
      if (own != numbers.end()) plan.push_back({own->second, 0});
    }
  }
  return plan;
}

}  // namespace

absl::StatusOr<NearbyCallPlans> NearbyCallPlans::Create(
    const SymbolicTrace& symbolic, const KnownCalls& known) {
  if (symbolic.dimensions.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the symbolic trace has ", symbolic.dimensions.size(),
                     " dimensions; plans are scaled along one, the batch"));
  }
  NearbyCallPlans plans(symbolic, known);
  MEMPLAN_RETURN_IF_ERROR(plans.ReadRecorded());
  for (const int64_t batch : known.batches()) {
    MEMPLAN_RETURN_IF_ERROR(plans.AddBatch(batch));
  }
  return plans;
}

absl::Status NearbyCallPlans::ReadRecorded() {
  recorded_batch_ = symbolic_.shapes[symbolic_.largest].front();
  recorded_.resize(symbolic_.calls.size());
  RequestStream stream;
  MEMPLAN_RETURN_IF_ERROR(Instantiator(symbolic_).Run(
      ShapeOf(symbolic_, recorded_batch_), {}, stream));
  for (const StreamCall& call : stream.calls) {
    recorded_[call.call] = PlanIn(stream, call);
  }
  return absl::OkStatus();
}

absl::Status NearbyCallPlans::AddBatch(int64_t batch) {
  KnownBatch added;
  MEMPLAN_ASSIGN_OR_RETURN(
      added.distinct, IrregularCallsAt(symbolic_, ShapeOf(symbolic_, batch)));
  added.of_call.resize(symbolic_.calls.size());
  for (const DistinctCall& call : added.distinct) {
    const auto number = static_cast<uint32_t>(added.plans.size());
    for (const uint32_t member : call.calls) added.of_call[member] = number;
    added.plans.push_back(UsablePlans(call));
  }
  batches_[batch] = std::move(added);
  return absl::OkStatus();
}

// A call that returned something else alone than in the model is not the same
// work: of no use.
CallPlansOrNone NearbyCallPlans::UsablePlans(const DistinctCall& call) const {
  const CallPlansOrNone* plans = known_.Find(call);
  if (plans == nullptr) return {};
  const auto is_of_no_use = [&](const CallPlan& plan) {
    return std::any_of(
        call.calls.begin(), call.calls.end(), [&](uint32_t member) {
          const size_t outputs = symbolic_.calls[member].outputs.size();
          return !CheckCallPlan(plan, outputs).ok();
        });
  };
  return {plans->begin(),
          std::find_if(plans->begin(), plans->end(), is_of_no_use)};
}

const NearbyCallPlans::KnownBatch* NearbyCallPlans::NearestTo(
    int64_t batch) const {
  const auto nearest = std::min_element(
      batches_.begin(), batches_.end(), [&](const auto& a, const auto& b) {
        return std::abs(a.first - batch) < std::abs(b.first - batch);
      });
  if (nearest == batches_.end() || !IsInReach(nearest->first, batch)) {
    return nullptr;
  }
  return &nearest->second;
}

const CallPlans* NearbyCallPlans::At(const Shape& shape) {
  const int64_t batch = shape.front().value;
  knowledge_ = CallKnowledge::kAssumed;
  const KnownBatch* nearest = NearestTo(batch);
  if (nearest == nullptr) return nullptr;
  knowledge_ = CallKnowledge::kRun;
  plans_.distinct.clear();
  plans_.of_call.assign(symbolic_.calls.size(), kNoId);
  for (const DistinctCall& call : nearest->distinct) {
    std::vector<CallPlan> plans = PlansOf(call.calls.front(), batch);
    if (plans.empty()) continue;
    for (const uint32_t member : call.calls) {
      plans_.of_call[member] = static_cast<uint32_t>(plans_.distinct.size());
    }
    plans_.distinct.push_back(std::move(plans));
  }
  return &plans_;
}

std::vector<CallPlan> NearbyCallPlans::PlansOf(uint32_t call, int64_t batch) {
  int64_t nearest = 0;
  for (const auto& [known, of] : batches_) {
    if (of.PlansOf(call).empty() || !IsInReach(known, batch)) continue;
    if (nearest == 0 || std::abs(known - batch) < std::abs(nearest - batch)) {
      nearest = known;
    }
  }
  if (nearest == 0) {
    knowledge_ = CallKnowledge::kAssumed;
    return {};
  }
  if (nearest == batch) return batches_.at(nearest).PlansOf(call);
  knowledge_ = std::max(knowledge_, CallKnowledge::kScaled);
  std::vector<CallPlan> scaled;
  for (const ScalablePlan& plan : Scalable(call, nearest)) {
    scaled.push_back(plan.At(batch));
  }
  return scaled;
}

const std::vector<ScalablePlan>& NearbyCallPlans::Scalable(uint32_t call,
                                                           int64_t nearest) {
  const auto [found, is_new] = scalable_.try_emplace({nearest, call});
  std::vector<ScalablePlan>& scalable = found->second;
  if (!is_new) return scalable;
  const CallPlansOrNone& plans = batches_.at(nearest).PlansOf(call);
  for (size_t i = 0; i < plans.size(); ++i) {
    std::vector<PlanPoint> others = {{recorded_batch_, &recorded_[call]}};
    for (const auto& [known, of] : batches_) {
      const CallPlansOrNone& other = of.PlansOf(call);
      if (known != nearest && i < other.size()) {
        others.push_back({known, &other[i]});
      }
    }
    scalable.emplace_back(PlanPoint{nearest, &plans[i]}, others);
  }
  return scalable;
}

CallKnowledge NearbyCallPlans::KnowledgeAt(int64_t batch) {
  const std::vector<int64_t> values = {batch};
  if (symbolic_.calls.empty() ||
      std::find(symbolic_.shapes.begin(), symbolic_.shapes.end(), values) !=
          symbolic_.shapes.end()) {
    return CallKnowledge::kRecorded;
  }
  At(ShapeOf(symbolic_, batch));
  return knowledge_;
}

int64_t NearbyCallPlans::distinct_calls() const {
  return batches_.empty()
             ? 0
             : static_cast<int64_t>(batches_.rbegin()->second.distinct.size());
}

}  // namespace memplan
