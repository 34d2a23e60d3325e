// Matchers for the reason and the field that an error carries.
#ifndef MEMPLAN_TESTS_SERVER_API_REASON_MATCHERS_H_
#define MEMPLAN_TESTS_SERVER_API_REASON_MATCHERS_H_

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "server/base/reason.h"
#include "tests/support/status_matchers.h"

namespace memplan::testing {

// Matches a status (or a StatusOr's) with this code, reason and field.
MATCHER_P3(FailsWith, code, reason, field,
           "fails with " + absl::StatusCodeToString(code) + " " + reason +
               " about \"" + field + "\"") {
  const absl::Status& status = GetStatus(arg);
  *result_listener << "which is " << status << ", reason " << ReasonOf(status)
                   << ", field \"" << FieldOf(status) << "\"";
  return status.code() == code && ReasonOf(status) == reason &&
         FieldOf(status) == field;
}

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SERVER_API_REASON_MATCHERS_H_
