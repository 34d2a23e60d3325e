#include "server/base/reason.h"

#include <gtest/gtest.h>

namespace memplan {
namespace {

TEST(ReasonTest, TravelsWithTheStatus) {
  const absl::Status status = WithReason(absl::NotFoundError("no model abc"),
                                         "MODEL_NOT_FOUND", "spec.model");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "no model abc");
  EXPECT_EQ(ReasonOf(status), "MODEL_NOT_FOUND");
  EXPECT_EQ(FieldOf(status), "spec.model");
}

TEST(ReasonTest, IsEmptyOnAStatusWithout) {
  const absl::Status status = absl::InternalError("plain");
  EXPECT_EQ(ReasonOf(status), "");
  EXPECT_EQ(FieldOf(status), "");
}

TEST(ReasonTest, HasNoFieldUnlessGiven) {
  const absl::Status status =
      WithReason(absl::UnavailableError("going down"), "SHUTTING_DOWN");
  EXPECT_EQ(ReasonOf(status), "SHUTTING_DOWN");
  EXPECT_EQ(FieldOf(status), "");
}

TEST(ReasonTest, OfAnOkStatusIsEmpty) {
  EXPECT_EQ(ReasonOf(absl::OkStatus()), "");
  EXPECT_EQ(ReasonOf(WithReason(absl::OkStatus(), "X")), "");
}

}  // namespace
}  // namespace memplan
