#include "client/errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "google/rpc/error_details.pb.h"
#include "tests/client/fake_daemon.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::RichError;
using ::memplan::testing::StatusIs;

TEST(StatusFromRpcTest, KeepsCodeMessageAndReason) {
  const absl::Status status = StatusFromRpc(RichError(
      grpc::StatusCode::NOT_FOUND, "no such model", "MODEL_NOT_FOUND"));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, "no such model"));
  EXPECT_EQ(ErrorReason(status), "MODEL_NOT_FOUND");
}

TEST(StatusFromRpcTest, IsOkForOk) {
  EXPECT_THAT(StatusFromRpc(grpc::Status::OK), IsOk());
}

TEST(StatusFromRpcTest, SurvivesDetailsThatAreNone) {
  const absl::Status status = StatusFromRpc(
      {grpc::StatusCode::INTERNAL, "broken", std::string("\xff\xff\xff", 3)});
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal, "broken"));
  EXPECT_EQ(ErrorReason(status), "");
}

TEST(ErrorTextTest, NamesTheFieldItsFlagAndTheReason) {
  const absl::Status status = StatusFromRpc(
      RichError(grpc::StatusCode::INVALID_ARGUMENT, "cap is above the device",
                "CAP_ABOVE_DEVICE", "spec.cap_bytes"));
  EXPECT_EQ(ErrorText(status),
            "cap is above the device\n"
            "  in spec.cap_bytes (--cap)\n"
            "  reason CAP_ABOVE_DEVICE");
}

TEST(ErrorTextTest, KeepsTheLinesOfASyntaxError) {
  const absl::Status status =
      StatusFromRpc(RichError(grpc::StatusCode::INVALID_ARGUMENT,
                              "unknown type:\n  float33[B,3]\n  ^ column 1",
                              "INPUT_SPEC_SYNTAX", "spec.inputs[0]"));
  EXPECT_EQ(ErrorText(status),
            "unknown type:\n"
            "  float33[B,3]\n"
            "  ^ column 1\n"
            "  in spec.inputs[0] (--input)\n"
            "  reason INPUT_SPEC_SYNTAX");
}

TEST(ErrorTextTest, AddsDescriptionsThatTheMessageLacks) {
  google::rpc::Status status;
  status.set_code(9);
  status.set_message("the worker cannot be used");
  google::rpc::PreconditionFailure failure;
  auto& violation = *failure.add_violations();
  violation.set_subject("/opt/memplan-worker");
  violation.set_description("make it executable");
  status.add_details()->PackFrom(failure);
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_nanos(500'000'000);
  status.add_details()->PackFrom(retry);
  EXPECT_EQ(ErrorText(StatusFromProto(status)),
            "the worker cannot be used\n"
            "  in /opt/memplan-worker: make it executable\n"
            "  try again in 1 s");
}

TEST(ErrorTextTest, AddsNoLineForADetailThatSaysNothingNew) {
  google::rpc::Status status;
  status.set_message("the worker cannot be used");
  google::rpc::PreconditionFailure failure;
  failure.add_violations()->set_description("the worker cannot be used");
  status.add_details()->PackFrom(failure);
  status.set_code(9);
  EXPECT_EQ(ErrorText(StatusFromProto(status)), "the worker cannot be used");
}

TEST(ErrorTextTest, IsTheCodeIfThereIsNoMessage) {
  EXPECT_EQ(ErrorText(absl::AbortedError("")), "ABORTED");
}

TEST(PrintableTextTest, DropsWhatATerminalWouldObey) {
  EXPECT_EQ(PrintableText("a\x1b[2Jb\tc\nd\x7f\xc2\x9b"
                          "e\xc3\xa9"),
            "a[2Jb c\nde\xc3\xa9");
}

struct ExitCase {
  std::string name;
  absl::Status status;
  ExitCode code;
};
class ExitCodeForTest : public ::testing::TestWithParam<ExitCase> {};

TEST_P(ExitCodeForTest, GivesTheCode) {
  EXPECT_EQ(ExitCodeFor(GetParam().status), GetParam().code);
}

absl::Status WithReasonOf(grpc::StatusCode code, const std::string& reason) {
  return StatusFromRpc(RichError(code, "text", reason));
}

INSTANTIATE_TEST_SUITE_P(
    Codes, ExitCodeForTest,
    ::testing::ValuesIn<ExitCase>({
        {"Ok", absl::OkStatus(), kExitDone},
        {"Usage", UsageError("no"), kExitUsage},
        {"RefusedRequest", absl::InvalidArgumentError("no"), kExitError},
        {"NotFound", absl::NotFoundError("no"), kExitError},
        {"NobodyThere", absl::UnavailableError("no"), kExitUnreachable},
        {"ShuttingDown",
         WithReasonOf(grpc::StatusCode::UNAVAILABLE, "SHUTTING_DOWN"),
         kExitUnreachable},
        {"DevicesNotRead",
         WithReasonOf(grpc::StatusCode::UNAVAILABLE, "DEVICES_NOT_READ"),
         kExitError},
        {"NoAnswer", absl::DeadlineExceededError("no"), kExitUnreachable},
        {"PermissionDenied", absl::PermissionDeniedError("no"),
         kExitNoPermission},
    }),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace memplan
