// Stable reasons on errors: an absl::Status with a payload that says why, for
// programs, and which field of the request it is about. services/rich_status
// turns it into google.rpc details; docs/errors.md lists every reason.
#ifndef MEMPLAN_SERVER_BASE_REASON_H_
#define MEMPLAN_SERVER_BASE_REASON_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace memplan {

// `status` with a reason (UPPER_SNAKE_CASE) and, if not empty, the field's
// path.
absl::Status WithReason(absl::Status status, std::string_view reason,
                        std::string_view field = "");

// The reason of `status`, or empty.
std::string ReasonOf(const absl::Status& status);

// The field of `status`, or empty.
std::string FieldOf(const absl::Status& status);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_BASE_REASON_H_
