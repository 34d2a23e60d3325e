// Runs a stream of requests through the allocator: does it get through, and what
// does that cost?
//
// A failed request ends the stream, unless it is a convolution's that knows
// another plan: what the call has taken since its plans began to differ goes
// back, and the next plan is tried; the same call keeps it in later steps. A
// convolution without another plan may still be caught by its caller, but nothing
// is known of what it does then: that counts as an end.
#ifndef MEMPLAN_PLANNER_PLAN_STREAM_REPLAY_H_
#define MEMPLAN_PLANNER_PLAN_STREAM_REPLAY_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "planner/allocator/block.h"
#include "planner/allocator/caching_allocator.h"
#include "planner/trace/request_stream.h"

namespace memplan {

struct StreamOutcome {
  // The request that ended it; none: it got through.
  std::optional<uint32_t> failed_request;
  // That request was a convolution's, whose caller would have caught it.
  bool ended_in_convolution = false;
  // Besides, it was scratch, which the call gives back before its end: another
  // plan may do without.
  bool ended_in_scratch = false;
  // Plans of that call that are known and were all refused, the first included.
  int64_t refused_plans = 0;
  // Up to its end; events are indices of requests.
  AllocatorPeaks peaks;
  int64_t retries = 0;
  int64_t segments_freed = 0;
  // Of the last step alone, when all is settled: 0 if there is no step.
  int64_t steady_retries = 0;
  int64_t steady_segments_freed = 0;
  // Failed requests after which a convolution took another plan.
  int64_t caught_failures = 0;

  bool Runs() const { return !failed_request.has_value(); }
  // It runs, and in the last step nothing has to be given back first.
  bool RunsAtEase() const {
    return Runs() && steady_retries == 0 && steady_segments_freed == 0;
  }
};

// Keeps its memory from one run to the next. Not thread-safe.
class StreamReplay {
 public:
  // `allocator` must outlive it; each run resets it.
  explicit StreamReplay(CachingAllocator& allocator) : allocator_(allocator) {}

  StreamOutcome Run(const RequestStream& stream);

 private:
  // Each returns false if a request failed.
  bool RunRequests(uint32_t begin, uint32_t end);
  bool RunRequest(const Request& request);
  bool RunCall(const StreamCall& call);

  std::span<const Request> PlanOf(const StreamCall& call, size_t plan) const;
  void GiveBack(std::span<const Request> requests);
  // The request at `failed` of `requests`, those of plan number `plan`.
  void EndInCall(const StreamCall& call, std::span<const Request> requests,
                 size_t failed, size_t plan);
  void Free(uint32_t block);
  // Of the phases that begin at or before `request`.
  void BeginPhases(uint32_t request);
  void EndStep();

  CachingAllocator& allocator_;
  const RequestStream* stream_ = nullptr;
  std::vector<BlockId> blocks_;  // by block of the stream; kNoBlock: not live
  std::vector<size_t> plans_in_use_;  // by number of plans
  size_t next_phase_ = 0;
  bool is_in_step_ = false;
  int64_t retries_before_step_ = 0;
  int64_t segments_freed_before_step_ = 0;
  StreamOutcome outcome_;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_STREAM_REPLAY_H_
