// A symbolic trace at one shape: the stream of requests that a run of this shape
// is predicted to make. Scratch of irregular calls is taken from runs of these
// calls alone where they are given, and assumed where they are not.
#ifndef MEMPLAN_PLANNER_TRACE_INSTANTIATION_H_
#define MEMPLAN_PLANNER_TRACE_INSTANTIATION_H_

#include <cstddef>
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
// it and stays as it is.
class Instantiator {
 public:
  explicit Instantiator(const SymbolicTrace& symbolic);

  // Puts what a run at `shape` asks for into `stream`. At the shape of a
  // recording it is what that one asked for, and the options are not looked at.
  // kInvalidArgument if the dimensions are not those recorded, one differs that
  // was the same in all recordings, or a plan does not go with its call
  // (`stream` is then of no use); kOutOfRange if a request is above 1 EiB.
  absl::Status Run(const Shape& shape, const InstantiateOptions& options,
                   RequestStream& stream);

 private:
  // Where a call's own requests stand, whatever the shape.
  struct CallPlace {
    RequestRange own_blocks = {};
    uint32_t first_own = 0;  // its first request for memory, or its end
    uint16_t stream = 0;
  };
  // A step of a plan: a block of the call's outputs, or of its scratch.
  struct PlannedRequest {
    int64_t bytes = 0;    // 0: it is freed
    uint32_t number = 0;  // among the outputs, or among all of the plan
    bool is_output = false;
  };
  // The plans of a distinct call at the shape of this run.
  struct ReadCall {
    bool is_read = false;
    size_t outputs = 0;               // of the calls that they go with
    size_t most_requests = 0;         // of a plan
    std::vector<RequestRange> plans;  // in planned_
  };

  static CallPlace PlaceOf(const SymbolicTrace& symbolic,
                           const SymbolicCall& call);
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
  // Checks the plans of a distinct call for call `index` and reads them.
  absl::Status ReadPlans(uint32_t index, const std::vector<CallPlan>& plans,
                         ReadCall& read);
  void AddPlan(uint32_t index, RequestRange planned, uint32_t first_scratch,
               std::vector<Request>& requests) const;
  void AddFreesOfOthers(RequestRange range, RequestRange own_blocks,
                        std::vector<Request>& requests) const;
  Request MakeRequest(const SymbolicRequest& from) const;

  const SymbolicTrace& symbolic_;
  bool is_recorded_ = false;  // the shape is that of the largest recording
  std::vector<SizedRequest> sized_;  // by rule
  std::vector<CallPlace> places_;    // by call
  std::vector<ReadCall> read_;       // by distinct call
  std::vector<PlannedRequest> planned_;
};

// kInvalidArgument as of Instantiator::Run.
absl::StatusOr<Reach> ReachOf(const SymbolicTrace& symbolic,
                              const Shape& shape);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_INSTANTIATION_H_
