// A symbolic trace at one shape: the stream of requests that a run of this shape
// is predicted to make. Scratch of irregular calls is taken from runs of these
// calls alone where they are given, and assumed where they are not.
#ifndef MEMPLAN_PLANNER_TRACE_INSTANTIATION_H_
#define MEMPLAN_PLANNER_TRACE_INSTANTIATION_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/trace/call_plan.h"
#include "planner/trace/request_stream.h"
#include "planner/trace/shape.h"
#include "planner/trace/size_rules.h"
#include "planner/trace/symbolic_trace.h"

namespace memplan {

struct InstantiateOptions {
  ScratchScenario scenario = ScratchScenario::kBestGuess;
  const CallPlans* plans = nullptr;  // at the very shape; not owned
};

// How a shape lies to those recorded.
enum class Reach : uint8_t {
  kRecorded,      // one of them
  kInterpolated,  // no dimension is above the largest recorded
  kExtrapolated,
};

// Fills streams; keeps its buffers. Not thread-safe. The symbolic trace outlives
// it.
class Instantiator {
 public:
  explicit Instantiator(const SymbolicTrace& symbolic) : symbolic_(symbolic) {}

  // Puts what a run at `shape` asks for into `stream`. At the shape of a
  // recording it is what that one asked for, and the options are not looked at.
  // kInvalidArgument if the dimensions are not those recorded, one differs that
  // was the same in all recordings, or a plan does not go with its call
  // (`stream` is then of no use); kOutOfRange if a request is above 1 EiB.
  absl::Status Run(const Shape& shape, const InstantiateOptions& options,
                   RequestStream& stream);

 private:
  absl::Status FillFromLaws(const InstantiateOptions& options,
                            RequestStream& stream);
  void AddRecorded(RequestRange range, RequestStream& stream) const;
  void AddAssumed(uint32_t index, ScratchScenario scenario,
                  RequestStream& stream) const;
  // After the call's own requests, which begin at `begin`.
  void AddAppearing(const SymbolicCall& call, uint32_t begin,
                    RequestStream& stream) const;
  absl::Status AddPlanned(uint32_t index, const CallPlans& plans,
                          RequestStream& stream);
  absl::Status AddPlan(uint32_t index, const CallPlan& plan,
                       uint32_t first_scratch, std::vector<Request>& requests);
  void AddFreesOfOthers(RequestRange range, RequestRange own_blocks,
                        std::vector<Request>& requests) const;
  RequestRange OwnBlocks(const SymbolicCall& call) const;
  Request MakeRequest(const SymbolicRequest& from) const;

  const SymbolicTrace& symbolic_;
  bool is_recorded_ = false;  // the shape is that of the largest recording
  std::vector<SizedRequest> sized_;    // by rule
  std::vector<uint32_t> call_blocks_;  // by request of a plan: its block
};

// kInvalidArgument as of Instantiator::Run.
absl::StatusOr<Reach> ReachOf(const SymbolicTrace& symbolic,
                              const Shape& shape);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_INSTANTIATION_H_
