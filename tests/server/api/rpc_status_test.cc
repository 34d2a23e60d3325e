#include "server/convert/rpc_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "google/rpc/error_details.pb.h"
#include "server/base/reason.h"

namespace memplan {
namespace {

using ::testing::HasSubstr;

// The one detail of its type, or unset.
template <typename Detail>
std::optional<Detail> Find(const google::rpc::Status& status) {
  for (const google::protobuf::Any& any : status.details()) {
    Detail detail;
    if (any.UnpackTo(&detail)) return detail;
  }
  return std::nullopt;
}

TEST(ToRpcStatusTest, CarriesCodeMessageReasonAndDomain) {
  const auto rpc = ToRpcStatus(
      WithReason(absl::NotFoundError("no such model"), "MODEL_NOT_FOUND"));
  EXPECT_EQ(rpc.code(), 5);
  EXPECT_EQ(rpc.message(), "no such model");
  ASSERT_EQ(rpc.details_size(), 1);
  EXPECT_EQ(rpc.details(0).type_url(),
            "type.googleapis.com/google.rpc.ErrorInfo");
  EXPECT_EQ(Find<google::rpc::ErrorInfo>(rpc)->reason(), "MODEL_NOT_FOUND");
  EXPECT_EQ(Find<google::rpc::ErrorInfo>(rpc)->domain(), "memplan.v1");
}

TEST(ToRpcStatusTest, NamesTheFieldInTheMessageAndInTheDetails) {
  const auto rpc = ToRpcStatus(WithReason(absl::InvalidArgumentError("is 0"),
                                          "INVALID_PROBE_SPEC", "spec.steps"));
  EXPECT_EQ(rpc.message(), "spec.steps: is 0");
  const auto detail = Find<google::rpc::BadRequest>(rpc);
  ASSERT_TRUE(detail.has_value());
  ASSERT_EQ(detail->field_violations_size(), 1);
  EXPECT_EQ(detail->field_violations(0).field(), "spec.steps");
  EXPECT_EQ(detail->field_violations(0).description(), "is 0");
}

TEST(ToRpcStatusTest, SaysWhenToTryAgain) {
  const auto rpc = ToRpcStatus(
      WithReason(absl::ResourceExhaustedError("full"), "QUEUE_FULL"));
  EXPECT_EQ(Find<google::rpc::RetryInfo>(rpc)->retry_delay().seconds(), 10);
  EXPECT_EQ(Find<google::rpc::QuotaFailure>(rpc)->violations(0).subject(),
            "QUEUE_FULL");
}

TEST(ToRpcStatusTest, GivesNoRetryWhereTryingAgainDoesNotHelp) {
  const auto rpc = ToRpcStatus(
      WithReason(absl::ResourceExhaustedError("full"), "STORE_FULL"));
  EXPECT_EQ(Find<google::rpc::RetryInfo>(rpc), std::nullopt);
}

TEST(ToRpcStatusTest, SaysWhichPreconditionFails) {
  const auto rpc = ToRpcStatus(WithReason(
      absl::FailedPreconditionError("chmod +x it"), "WORKER_UNUSABLE"));
  const auto detail = Find<google::rpc::PreconditionFailure>(rpc);
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->violations(0).type(), "WORKER_UNUSABLE");
  EXPECT_EQ(detail->violations(0).description(), "chmod +x it");
}

TEST(ToRpcStatusTest, GivesAnErrorWithoutAReasonOneByItsCode) {
  EXPECT_EQ(
      Find<google::rpc::ErrorInfo>(ToRpcStatus(absl::InternalError("surprise")))
          ->reason(),
      "INTERNAL_ERROR");
}

TEST(ToRpcStatusTest, StaysWithinFourKilobytesWhateverTheText) {
  const auto rpc = ToRpcStatus(
      WithReason(absl::FailedPreconditionError(std::string(100'000, '\xff')),
                 "WORKER_UNUSABLE", "spec." + std::string(1000, 'x')));
  EXPECT_LE(rpc.ByteSizeLong(), kMaxDetailBytes);
  EXPECT_LE(rpc.message().size(), 1024U);
  EXPECT_THAT(rpc.message(), HasSubstr("?…"));
  EXPECT_EQ(rpc.details_size(), 3);
}

}  // namespace
}  // namespace memplan
