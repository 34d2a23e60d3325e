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

// A size at a batch.
struct SizePoint {
  int64_t batch = 0;
  int64_t bytes = 0;
};

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

// `others` are the same request at other batches, none at that of `nearest`.
int64_t ScratchAt(const SizePoint& nearest, std::span<const SizePoint> others,
                  int64_t batch) {
  const SizePoint* near = nullptr;
  const SizePoint* far = nullptr;
  for (const SizePoint& other : others) {
    if (near == nullptr || IsFarther(nearest, *near, other)) near = &other;
    if (far == nullptr || IsFarther(nearest, other, *far)) far = &other;
  }
  if (near == nullptr) return InProportion(nearest, batch);
  if (near->bytes == nearest.bytes) return nearest.bytes;
  if (AreProportional(*near, nearest)) return InProportion(nearest, batch);
  const bool is_baseline =
      std::abs(far->batch - nearest.batch) * kNeighbourPart >= nearest.batch;
  return is_baseline ? OnLine(nearest, *far, batch)
                     : InProportion(nearest, batch);
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

CallPlan ScalePlan(const PlanPoint& nearest, std::span<const PlanPoint> others,
                   int64_t batch) {
  CallPlan scaled = *nearest.plan;
  if (batch == nearest.batch) return scaled;
  const std::vector<bool> is_freed = FreedRequests(scaled);
  std::vector<SizePoint> points;
  size_t output = 0;
  for (size_t i = 0; i < scaled.size(); ++i) {
    CallStep& step = scaled[i];
    if (step.bytes == 0) continue;
    const SizePoint own{nearest.batch, step.bytes};
    const bool is_output = !is_freed[step.request];
    points.clear();
    for (const PlanPoint& other : others) {
      if (other.batch == nearest.batch) continue;
      if (is_output) {
        const std::vector<int64_t> outputs = OutputsOf(*other.plan);
        if (output < outputs.size()) {
          points.push_back({other.batch, outputs[output]});
        }
      } else if (HaveOneStructure(*nearest.plan, *other.plan)) {
        points.push_back({other.batch, (*other.plan)[i].bytes});
      }
    }
    if (is_output) ++output;
    if (is_output && !points.empty()) {
      step.bytes = OnLine(own, points.front(), batch);
    } else {
      step.bytes = ScratchAt(own, points, batch);
    }
  }
  return scaled;
}

}  // namespace memplan
