// The irregular calls of a symbolic trace as a list of work: each distinct call
// once, with its arguments at one shape, to be run alone on the device. What it
// shows there goes back into the symbolic trace wherever that call stands.
#ifndef MEMPLAN_PLANNER_TRACE_IRREGULAR_CALLS_H_
#define MEMPLAN_PLANNER_TRACE_IRREGULAR_CALLS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/trace/call_plan.h"
#include "planner/trace/shape.h"
#include "planner/trace/signature.h"
#include "planner/trace/symbolic_trace.h"

namespace memplan {

// SignatureArgument says which numbers each kind has.
struct CallArgument {
  ArgumentKind kind = ArgumentKind::kNone;
  bool on_cpu = false;
  std::string dtype;
  std::vector<int64_t> numbers;
  friend bool operator==(const CallArgument&, const CallArgument&) = default;
};

// An operator with everything that decides what it asks for.
struct DistinctCall {
  std::string operator_name;  // aten::conv2d
  std::string overload;       // empty: the default
  bool is_convolution = false;
  // False: no signature is known, so that it cannot be run alone. Each such call
  // is distinct.
  bool has_signature = false;
  std::vector<CallArgument> arguments;
  // Calls of the symbolic trace that are this one; empty where it is work to do.
  std::vector<uint32_t> calls;
  friend bool operator==(const DistinctCall&, const DistinctCall&) = default;
};

// A text that two calls share if and only if they are the same work. Every call
// without a signature is its own, and has the key of its name alone.
std::string CallKey(const DistinctCall& call);

// In the order of their first calls. kInvalidArgument as of Instantiator::Run.
absl::StatusOr<std::vector<DistinctCall>> IrregularCallsAt(
    const SymbolicTrace& symbolic, const Shape& shape);

// `plans[i]` are those of `distinct[i]`; without one, that call stays unknown.
// kInvalidArgument if there are not as many.
absl::StatusOr<CallPlans> PlansOfCalls(
    const std::vector<DistinctCall>& distinct,
    std::vector<std::vector<CallPlan>> plans);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_IRREGULAR_CALLS_H_
