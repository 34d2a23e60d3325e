// Matchers for absl::Status and absl::StatusOr, named and meant as those of
// later Abseil releases, for the packaged one that has none:
//
//   EXPECT_THAT(Save(), IsOk());
//   EXPECT_THAT(ParseBytes("1 KiB"), IsOkAndHolds(Bytes(1024)));
//   EXPECT_THAT(ParseBytes("?"), StatusIs(absl::StatusCode::kInvalidArgument,
//                                         HasSubstr("no amount")));
#ifndef MEMPLAN_TESTS_SUPPORT_STATUS_MATCHERS_H_
#define MEMPLAN_TESTS_SUPPORT_STATUS_MATCHERS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"

namespace memplan::testing {

inline const absl::Status& GetStatus(const absl::Status& status) {
  return status;  // NOLINT(bugprone-return-const-ref-from-parameter)
}
template <typename Value>
const absl::Status& GetStatus(const absl::StatusOr<Value>& value) {
  return value.status();
}

// Matches a status (or a StatusOr's) with the code OK.
MATCHER(IsOk, negation ? "is not OK" : "is OK") {
  const absl::Status& status = GetStatus(arg);
  *result_listener << "which has the status " << status;
  return status.ok();
}

// Matches a status whose code and message match.
MATCHER_P2(StatusIs, code, message,
           "has the status " + absl::StatusCodeToString(code) +
               " and a message that " +
               ::testing::DescribeMatcher<std::string>(message, negation)) {
  const absl::Status& status = GetStatus(arg);
  *result_listener << "which has the status " << status;
  return status.code() == code &&
         ::testing::ExplainMatchResult(message, std::string(status.message()),
                                       result_listener);
}
inline auto StatusIs(absl::StatusCode code) {
  return StatusIs(code, ::testing::A<std::string>());
}

// Matches a StatusOr that is OK and whose value matches.
MATCHER_P(IsOkAndHolds, value,
          negation ? "is not OK or holds another value"
                   : "is OK and holds a value that matches") {
  if (!arg.ok()) {
    *result_listener << "which has the status " << arg.status();
    return false;
  }
  return ::testing::ExplainMatchResult(value, *arg, result_listener);
}

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SUPPORT_STATUS_MATCHERS_H_
