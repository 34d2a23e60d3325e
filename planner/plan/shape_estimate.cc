#include "planner/plan/shape_estimate.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/allocator/address_source.h"
#include "planner/base/status_macros.h"
#include "planner/trace/event.h"

namespace memplan {
namespace {

// Random orders besides the three regular ones. With scratch assumed, the
// assumptions differ more than orders do, and one or two tell enough.
constexpr uint64_t kRandomOrders = 3;
constexpr size_t kOrdersWithAssumptions = 3;

// What is added on either side, as a part of the estimate: a little more than
// the recorded traces were ever off beyond all orders and assumptions.
struct Margins {
  double requested_ratio;
  double allocated_ratio;
  double reserved_ratio;
};
constexpr Margins kScratchKnown{0.0001, 0.0002, 0.0025};
constexpr Margins kScratchAssumed{0.001, 0.001, 0.05};

void Include(Bytes bytes, PeakEstimate& peak) {
  peak.lower = std::min(peak.lower, bytes);
  peak.upper = std::max(peak.upper, bytes);
}

void AddMargin(double ratio, PeakEstimate& peak) {
  const Bytes margin(
      static_cast<int64_t>(ratio * static_cast<double>(peak.estimate.count())));
  peak.lower = std::max(peak.lower - margin, Bytes(0));
  peak.upper += margin;
}

// What is live after request `last`.
OriginBytes LiveAt(const RequestStream& stream, uint32_t last) {
  std::vector<const Request*> live(stream.block_count, nullptr);
  for (uint32_t i = 0; i <= last && i < stream.requests.size(); ++i) {
    const Request& request = stream.requests[i];
    if (request.kind == RequestKind::kEmptyCache) continue;
    live[request.block] =
        request.kind == RequestKind::kAlloc ? &request : nullptr;
  }
  OriginBytes bytes = {};
  for (const Request* request : live) {
    if (request == nullptr) continue;
    bytes[static_cast<size_t>(request->origin)] += Bytes(request->bytes);
  }
  return bytes;
}

}  // namespace

ShapeEstimator::ShapeEstimator(const SymbolicTrace& symbolic,
                               const AllocatorConditions& conditions)
    : symbolic_(symbolic), instantiator_(symbolic) {
  const auto add = [&](std::unique_ptr<AddressSource> order) {
    orders_.push_back(
        std::make_unique<OrderedReplay>(conditions, std::move(order)));
  };
  add(std::make_unique<ChunkAddresses>());
  add(std::make_unique<DescendingAddresses>());
  add(std::make_unique<AscendingAddresses>());
  for (uint64_t seed = 1; seed <= kRandomOrders; ++seed) {
    add(std::make_unique<RandomAddresses>(seed));
  }
}

absl::StatusOr<ShapeEstimate> ShapeEstimator::Estimate(const Shape& shape,
                                                       const CallPlans* plans) {
  ShapeEstimate estimate;
  MEMPLAN_ASSIGN_OR_RETURN(estimate.reach, ReachOf(symbolic_, shape));
  MEMPLAN_RETURN_IF_ERROR(
      instantiator_.Run(shape, {ScratchScenario::kBestGuess, plans}, stream_));
  Begin(orders_.front()->replay.Run(stream_), estimate);
  estimate.irregular_calls = static_cast<int64_t>(symbolic_.calls.size());
  if (estimate.reach != Reach::kRecorded) {
    estimate.assumed_calls = CountAssumed(plans);
  }
  const bool is_assumed = estimate.assumed_calls > 0;
  const size_t orders = is_assumed ? kOrdersWithAssumptions : orders_.size();
  for (const ScratchScenario scenario : kAllScratchScenarios) {
    const bool is_guess = scenario == ScratchScenario::kBestGuess;
    if (!is_guess) {
      if (!is_assumed) break;
      MEMPLAN_RETURN_IF_ERROR(
          instantiator_.Run(shape, {scenario, plans}, stream_));
    }
    for (size_t i = is_guess ? 1 : 0; i < orders; ++i) {
      Widen(orders_[i]->replay.Run(stream_), estimate);
    }
  }
  if (estimate.reach != Reach::kRecorded) {
    const Margins& margins = is_assumed ? kScratchAssumed : kScratchKnown;
    AddMargin(margins.requested_ratio, estimate.requested);
    AddMargin(margins.allocated_ratio, estimate.allocated);
    AddMargin(margins.reserved_ratio, estimate.reserved);
  }
  return estimate;
}

void ShapeEstimator::Begin(const StreamOutcome& outcome,
                           ShapeEstimate& estimate) const {
  const auto exactly = [](const Peak& peak) -> PeakEstimate {
    return {peak.bytes, peak.bytes, peak.bytes};
  };
  estimate.outcome = outcome;
  estimate.requested = exactly(outcome.peaks.requested);
  estimate.allocated = exactly(outcome.peaks.allocated);
  estimate.reserved = exactly(outcome.peaks.reserved);
  estimate.requested_by_origin = LiveAt(stream_, outcome.peaks.requested.event);
  if (!outcome.failed_request.has_value()) return;
  const uint32_t event = stream_.events[*outcome.failed_request];
  if (event != kNoId) estimate.failed_event = event;
}

void ShapeEstimator::Widen(const StreamOutcome& outcome,
                           ShapeEstimate& estimate) const {
  Include(outcome.peaks.requested.bytes, estimate.requested);
  Include(outcome.peaks.allocated.bytes, estimate.allocated);
  Include(outcome.peaks.reserved.bytes, estimate.reserved);
  if (outcome.Runs() != estimate.outcome.Runs()) {
    estimate.is_end_certain = false;
  }
}

int64_t ShapeEstimator::CountAssumed(const CallPlans* plans) const {
  int64_t assumed = 0;
  for (size_t i = 0; i < symbolic_.calls.size(); ++i) {
    const bool is_known = plans != nullptr && i < plans->of_call.size() &&
                          plans->of_call[i] != kNoId;
    if (!is_known) ++assumed;
  }
  return assumed;
}

}  // namespace memplan
