#include "server/services/unary_answer.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "memplan/v1/device_service.grpc.pb.h"
#include "server/base/reason.h"
#include "tests/server/api/rpc_matchers.h"

namespace memplan::testing {
namespace {

using ::testing::HasSubstr;
using Handler = std::function<absl::Status(const UnaryAnswer&)>;

// A service whose one method is the test's.
class ScriptedService : public v1::DeviceService::CallbackService {
 public:
  explicit ScriptedService(Handler handler) : handler_(std::move(handler)) {}
  grpc::ServerUnaryReactor* ListDevices(grpc::CallbackServerContext* context,
                                        const v1::ListDevicesRequest*,
                                        v1::ListDevicesResponse*) override {
    return AnswerLater(context, handler_);
  }

 private:
  const Handler handler_;
};

// What a client gets from a handler.
grpc::Status Call(Handler handler) {
  ScriptedService service(std::move(handler));
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  const auto stub = v1::DeviceService::NewStub(server->InProcessChannel({}));
  grpc::ClientContext context;
  v1::ListDevicesResponse response;
  return stub->ListDevices(&context, {}, &response);
}

TEST(UnaryAnswerTest, SendsTheStatusOfTheWork) {
  EXPECT_THAT(Call([](const UnaryAnswer& answer) {
                answer.Finish(absl::OkStatus());
                return absl::OkStatus();
              }),
              IsRpcOk());
}

TEST(UnaryAnswerTest, OnlyTheFirstFinishCounts) {
  const grpc::Status status = Call([](const UnaryAnswer& answer) {
    answer.Finish(absl::NotFoundError("first"));
    answer.Finish([]() -> absl::Status { throw std::logic_error("ran"); });
    return absl::InternalError("third");
  });
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST(UnaryAnswerTest, AnErrorOfAStepEndsTheCall) {
  EXPECT_THAT(
      Call([](const UnaryAnswer&) {
        return WithReason(absl::InvalidArgumentError("no"), "INVALID_REQUEST",
                          "id");
      }),
      IsRpcError(grpc::StatusCode::INVALID_ARGUMENT, "INVALID_REQUEST", "id"));
}

TEST(UnaryAnswerTest, AnExceptionIsAnInternalErrorWithItsWords) {
  const grpc::Status status = Call([](const UnaryAnswer&) -> absl::Status {
    throw std::runtime_error("the sky fell");
  });
  EXPECT_THAT(status,
              IsRpcError(grpc::StatusCode::INTERNAL, "INTERNAL_ERROR", ""));
  EXPECT_THAT(status.error_message(), HasSubstr("the sky fell"));
}

TEST(UnaryAnswerTest, AThrownNumberIsAnInternalError) {
  EXPECT_THAT(Call([](const UnaryAnswer&) -> absl::Status { throw 5; }),
              IsRpcError(grpc::StatusCode::INTERNAL, "INTERNAL_ERROR", ""));
}

TEST(UnaryAnswerTest, AnAnswerThatEverybodyDropsEndsTheCall) {
  EXPECT_THAT(Call([](const UnaryAnswer&) { return absl::OkStatus(); }),
              IsRpcError(grpc::StatusCode::INTERNAL, "INTERNAL_ERROR", ""));
}

TEST(UnaryAnswerTest, TheLongestErrorArrivesWithItsDetails) {
  std::string words;
  for (int i = 0; i < 4000; ++i) words += "é";
  const grpc::Status status = Call([&words](const UnaryAnswer&) {
    return WithReason(absl::FailedPreconditionError(words), "WORKER_UNUSABLE",
                      "spec." + std::string(500, 'x'));
  });
  EXPECT_EQ(RpcReason(status), "WORKER_UNUSABLE");
  EXPECT_THAT(status.error_message(), HasSubstr("é…"));
}

}  // namespace
}  // namespace memplan::testing
