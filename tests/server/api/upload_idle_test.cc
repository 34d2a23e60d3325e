// Uploads whose clients are there and say nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "tests/server/api/api_server.h"
#include "tests/server/api/rpc_matchers.h"
#include "tests/server/api/upload_client.h"
#include "tests/support/scripted_model.h"

namespace memplan::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using SteadyClock = std::chrono::steady_clock;

constexpr int64_t kPiece = 1 << 20;

class UploadIdleTest : public ::testing::Test {
 protected:
  void Start(milliseconds idle_timeout) {
    server_ = std::make_unique<ApiServer>(
        GpuAndCpu, FakeTrialRunner::FitsUpTo(37), idle_timeout);
    stub_ = server_->models();
  }

  std::unique_ptr<ApiServer> server_;
  std::unique_ptr<v1::ModelService::Stub> stub_;
  const std::string model_ = ScriptedModel("{}", 2 << 20);
};

TEST_F(UploadIdleTest, LosesItsPlace) {
  Start(milliseconds(200));
  const grpc::Status end = Upload(*stub_).Await();
  EXPECT_THAT(end,
              IsRpcError(grpc::StatusCode::UNAVAILABLE, "UPLOAD_IDLE", ""));
  EXPECT_THAT(end.error_message(), HasSubstr("for 200ms"));
  EXPECT_TRUE(FindDetail<google::rpc::RetryInfo>(end).has_value());
  EXPECT_EQ(server_->places().uploads.taken(), 0);
}

TEST_F(UploadIdleTest, KeepsItsPart) {
  Start(std::chrono::seconds(2));
  Upload silent(*stub_);
  silent.Send(Header(model_)).Send(Chunk(0, model_.substr(0, kPiece)));
  const grpc::Status end = silent.Await();
  EXPECT_EQ(RpcReason(end), "UPLOAD_IDLE");
  EXPECT_THAT(end.error_message(), HasSubstr("1048576 bytes are kept"));
  Upload rest(*stub_);
  rest.Send(Header(model_));
  for (int64_t at = kPiece; at < static_cast<int64_t>(model_.size());
       at += kPiece) {
    rest.Send(Chunk(at, model_.substr(static_cast<size_t>(at), kPiece)));
  }
  EXPECT_THAT(rest.Send(Commit()).End(), IsRpcOk());
}

// The time counts from message to message, not from the upload's begin.
TEST_F(UploadIdleTest, MayTakeLongIfMessagesCome) {
  const milliseconds timeout(1500);
  Start(timeout);
  Upload slow(*stub_);
  slow.Send(Header(model_));
  const auto begin = SteadyClock::now();
  auto last = begin;
  SteadyClock::duration longest_pause{};
  int64_t at = 0;
  for (; SteadyClock::now() < begin + 2 * timeout; ++at) {
    slow.Send(Chunk(at, model_.substr(static_cast<size_t>(at), 1)));
    const auto now = SteadyClock::now();
    longest_pause = std::max(longest_pause, now - std::exchange(last, now));
    std::this_thread::sleep_for(milliseconds(20));
  }
  slow.Send(Chunk(at, "it is alive"));
  const grpc::Status end = slow.Send(Commit()).End();
  if (longest_pause > timeout / 2) GTEST_SKIP() << "the machine is too busy";
  EXPECT_EQ(RpcReason(end), "UPLOAD_TRUNCATED");
}

}  // namespace
}  // namespace memplan::testing
