#include "planner/plan/plan_scaling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "planner/trace/call_plan.h"
#include "planner/trace/event.h"

namespace memplan {
namespace {

// Two batches this near to each other say little of a slope: a sixteenth of the
// batch.
constexpr int64_t kNeighbourPart = 16;

int64_t Rounded(double bytes) {
  return static_cast<int64_t>(
      std::clamp(std::round(bytes), 1.0, static_cast<double>(kMaxEventBytes)));
}

int64_t OnLine(const SizePoint& a, const SizePoint& b, int64_t batch) {
  const double slope = static_cast<double>(b.bytes - a.bytes) /
                       static_cast<double>(b.batch - a.batch);
  return Rounded(static_cast<double>(a.bytes) +
                 slope * static_cast<double>(batch - a.batch));
}

int64_t InProportion(const SizePoint& point, int64_t batch) {
  return Rounded(static_cast<double>(point.bytes) * static_cast<double>(batch) /
                 static_cast<double>(point.batch));
}

bool AreProportional(const SizePoint& a, const SizePoint& b) {
  return static_cast<double>(a.bytes) * static_cast<double>(b.batch) ==
         static_cast<double>(b.bytes) * static_cast<double>(a.batch);
}

bool IsFarther(const SizePoint& from, const SizePoint& a, const SizePoint& b) {
  return std::abs(a.batch - from.batch) > std::abs(b.batch - from.batch);
}

// The sizes of what is not freed, in order.
std::vector<int64_t> OutputsOf(const CallPlan& plan) {
  const std::vector<bool> is_freed = FreedRequests(plan);
  std::vector<int64_t> outputs;
  for (const CallStep& step : plan) {
    if (step.bytes > 0 && !is_freed[step.request]) {
      outputs.push_back(step.bytes);
    }
  }
  return outputs;
}

}  // namespace

bool HaveOneStructure(const CallPlan& a, const CallPlan& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const CallStep& left, const CallStep& right) {
                      return left.request == right.request &&
                             (left.bytes > 0) == (right.bytes > 0);
                    });
}

// `others` are the same request at other batches, none at that of `nearest`.
ScalablePlan::Size ScalablePlan::ScratchSize(
    const SizePoint& nearest, std::span<const SizePoint> others) {
  const SizePoint* near = nullptr;
  const SizePoint* far = nullptr;
  for (const SizePoint& other : others) {
    if (near == nullptr || IsFarther(nearest, *near, other)) near = &other;
    if (far == nullptr || IsFarther(nearest, other, *far)) far = &other;
  }
  if (near == nullptr) return {.growth = Growth::kInProportion};
  if (near->bytes == nearest.bytes) return {.growth = Growth::kNone};
  const bool is_baseline =
      std::abs(far->batch - nearest.batch) * kNeighbourPart >= nearest.batch;
  if (AreProportional(*near, nearest) || !is_baseline) {
    return {.growth = Growth::kInProportion};
  }
  return {Growth::kOnLine, far->batch, far->bytes};
}

ScalablePlan::ScalablePlan(const PlanPoint& nearest,
                           std::span<const PlanPoint> others)
    : batch_(nearest.batch), plan_(*nearest.plan), sizes_(plan_.size()) {
  const std::vector<bool> is_freed = FreedRequests(plan_);
  std::vector<std::vector<int64_t>> outputs;  // by other plan
  std::vector<bool> is_of_one_structure;
  for (const PlanPoint& other : others) {
    outputs.push_back(OutputsOf(*other.plan));
    is_of_one_structure.push_back(HaveOneStructure(plan_, *other.plan));
  }
  std::vector<SizePoint> points;
  size_t output = 0;
  for (size_t i = 0; i < plan_.size(); ++i) {
    const CallStep& step = plan_[i];
    if (step.bytes == 0) continue;
    const bool is_output = !is_freed[step.request];
    points.clear();
    for (size_t k = 0; k < others.size(); ++k) {
      if (others[k].batch == batch_) continue;
      if (is_output && output < outputs[k].size()) {
        points.push_back({others[k].batch, outputs[k][output]});
      } else if (!is_output && is_of_one_structure[k]) {
        points.push_back({others[k].batch, (*others[k].plan)[i].bytes});
      }
    }
    if (is_output) ++output;
    if (is_output && !points.empty()) {
      sizes_[i] = {Growth::kOnLine, points.front().batch, points.front().bytes};
    } else {
      sizes_[i] = ScratchSize({batch_, step.bytes}, points);
    }
  }
}

CallPlan ScalablePlan::At(int64_t batch) const {
  CallPlan scaled = plan_;
  if (batch == batch_) return scaled;
  for (size_t i = 0; i < scaled.size(); ++i) {
    CallStep& step = scaled[i];
    if (step.bytes == 0) continue;
    const SizePoint own{batch_, step.bytes};
    switch (sizes_[i].growth) {
      case Growth::kNone:
        break;
      case Growth::kInProportion:
        step.bytes = InProportion(own, batch);
        break;
      case Growth::kOnLine:
        step.bytes = OnLine(own, {sizes_[i].batch, sizes_[i].bytes}, batch);
        break;
    }
  }
  return scaled;
}

CallPlan ScalePlan(const PlanPoint& nearest, std::span<const PlanPoint> others,
                   int64_t batch) {
  return ScalablePlan(nearest, others).At(batch);
}

}  // namespace memplan
