#include "planner/base/status_macros.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::IsOkAndHolds;
using ::memplan::testing::StatusIs;

absl::Status PassOn(const absl::Status& status, bool* reached) {
  MEMPLAN_RETURN_IF_ERROR(status);
  *reached = true;
  return absl::OkStatus();
}

TEST(ReturnIfErrorTest, GoesOnAfterOk) {
  bool reached = false;
  EXPECT_THAT(PassOn(absl::OkStatus(), &reached), IsOk());
  EXPECT_TRUE(reached);
}

TEST(ReturnIfErrorTest, ReturnsTheError) {
  bool reached = false;
  EXPECT_THAT(PassOn(absl::NotFoundError("gone"), &reached),
              StatusIs(absl::StatusCode::kNotFound, "gone"));
  EXPECT_FALSE(reached);
}

absl::StatusOr<std::string> Twice(const absl::StatusOr<std::string>& word) {
  MEMPLAN_ASSIGN_OR_RETURN(const std::string first, word);
  std::string second;
  MEMPLAN_ASSIGN_OR_RETURN(second, word);
  return first + second;
}

TEST(AssignOrReturnTest, DeclaresAndAssigns) {
  EXPECT_THAT(Twice("ab"), IsOkAndHolds("abab"));
}

TEST(AssignOrReturnTest, ReturnsTheError) {
  EXPECT_THAT(Twice(absl::DataLossError("torn")),
              StatusIs(absl::StatusCode::kDataLoss, "torn"));
}

}  // namespace
}  // namespace memplan
