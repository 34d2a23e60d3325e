// The refusal of a probe's spec.
#ifndef MEMPLAN_SERVER_CONVERT_REFUSED_SPEC_H_
#define MEMPLAN_SERVER_CONVERT_REFUSED_SPEC_H_

#include <string>

#include "absl/status/status.h"
#include "server/base/reason.h"

namespace memplan {

// kInvalidArgument (INVALID_PROBE_SPEC) about the field at path `field`.
inline absl::Status RefusedSpec(const std::string& message,
                                const std::string& field) {
  return WithReason(absl::InvalidArgumentError(message), "INVALID_PROBE_SPEC",
                    field);
}

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONVERT_REFUSED_SPEC_H_
