// A distinct call's overload and arguments as one line of text, the form that
// signature_text.h has: what travels to the device, and what a kept result is
// found by.
#ifndef MEMPLAN_PLANNER_TRACE_CALL_TEXT_H_
#define MEMPLAN_PLANNER_TRACE_CALL_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "planner/trace/irregular_calls.h"

namespace memplan {

// Two calls of one operator have the same text if and only if they are alike.
// Empty without a signature.
std::string WriteCallText(const DistinctCall& call);

// Sets overload and arguments to what `text` says. kInvalidArgument as of
// ReadSignature, with `call` unchanged.
absl::Status ReadCallText(std::string_view text, DistinctCall& call);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_CALL_TEXT_H_
