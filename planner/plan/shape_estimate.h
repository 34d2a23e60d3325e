// What a run at some shape will take, without running it: the best guess of each
// peak, and an interval that is meant to hold the truth.
//
// Three things are not known. Where the driver puts segments: several orders of
// addresses are replayed. Scratch of irregular calls that were not run alone:
// several assumptions are replayed. And what neither shows: a margin on both
// sides, taken from recorded traces and from probes on a card
// (docs/measurements.md).
#ifndef MEMPLAN_PLANNER_PLAN_SHAPE_ESTIMATE_H_
#define MEMPLAN_PLANNER_PLAN_SHAPE_ESTIMATE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/allocator/address_source.h"
#include "planner/allocator/caching_allocator.h"
#include "planner/allocator/conditions.h"
#include "planner/base/bytes.h"
#include "planner/base/shared_work.h"
#include "planner/plan/stream_replay.h"
#include "planner/trace/instantiation.h"
#include "planner/trace/request_stream.h"
#include "planner/trace/shape.h"
#include "planner/trace/symbolic_trace.h"

namespace memplan {

// lower ≤ estimate ≤ upper.
struct PeakEstimate {
  Bytes estimate;
  Bytes lower;
  Bytes upper;
  friend bool operator==(const PeakEstimate&, const PeakEstimate&) = default;
};

// Bytes of each SizeOrigin.
using OriginBytes = std::array<Bytes, kSizeOriginCount>;

struct ShapeEstimate {
  PeakEstimate requested;
  PeakEstimate allocated;
  PeakEstimate reserved;
  // Of the best guess; events are indices of its requests. Its failed request as
  // an event of the largest recording, if it is one.
  StreamOutcome outcome;
  std::optional<uint32_t> failed_event;
  // Whether every order and assumption ends as the best guess does.
  bool is_end_certain = true;
  Reach reach = Reach::kRecorded;
  // Irregular calls whose scratch is assumed, of all.
  int64_t assumed_calls = 0;
  int64_t irregular_calls = 0;
  // What is live at the requested peak, by where its sizes come from.
  OriginBytes requested_by_origin = {};
};

struct EstimateOptions {
  // Of irregular calls at this very shape; null: none are known. Not owned.
  const CallPlans* plans = nullptr;
  // Orders and assumptions that fail where the best guess runs are left out of
  // the intervals, which are then of a run that gets through.
  bool only_those_that_run = false;
  // Recordings may be of other conditions, under which a run takes other ways: at
  // their shapes too there is a margin.
  bool recorded_elsewhere = false;
  // Shares the orders; null: nobody. The estimate is the same. Not owned.
  const WorkSharer* sharer = nullptr;
};

// Keeps its memory from one estimate to the next. Not thread-safe. The symbolic
// trace outlives it.
class ShapeEstimator {
 public:
  ShapeEstimator(const SymbolicTrace& symbolic,
                 const AllocatorConditions& conditions);

  // Errors as of Instantiator::Run.
  absl::StatusOr<ShapeEstimate> Estimate(const Shape& shape,
                                         const EstimateOptions& options = {});

 private:
  // An allocator whose segments lie in one order.
  struct OrderedReplay {
    OrderedReplay(const AllocatorConditions& conditions,
                  std::unique_ptr<AddressSource> order)
        : addresses(std::move(order)),
          allocator(conditions, *addresses),
          replay(allocator) {}

    std::unique_ptr<AddressSource> addresses;
    CachingAllocator allocator;
    StreamReplay replay;
  };

  // From the best guess in `stream_`.
  void Begin(const StreamOutcome& outcome, ShapeEstimate& estimate) const;
  static void Widen(const StreamOutcome& outcome,
                    const EstimateOptions& options, ShapeEstimate& estimate);
  void AddMargins(ShapeEstimate& estimate) const;
  int64_t CountAssumed(const CallPlans* plans) const;

  const SymbolicTrace& symbolic_;
  const std::optional<Bytes> cap_;
  const Bytes segment_;  // the step in which reserved moves most often
  Instantiator instantiator_;
  RequestStream stream_;
  // The first is the order of the best guess.
  std::vector<std::unique_ptr<OrderedReplay>> orders_;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_SHAPE_ESTIMATE_H_
