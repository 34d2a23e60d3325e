// Waits for a probe's end, and watches that are taken up again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "tests/server/api/api_server.h"
#include "tests/server/api/rpc_matchers.h"
#include "tests/server/api/upload_client.h"
#include "tests/support/scripted_model.h"

namespace memplan::testing {
namespace {

using ::testing::IsEmpty;

// A probe whose trials are held, so that it ends when the test says.
class ProbeFollowingTest : public ::testing::Test {
 protected:
  ProbeFollowingTest() {
    server_.runner().HoldTrials();
    v1::CreateProbeRequest request;
    v1::ProbeSpec& spec = *request.mutable_spec();
    spec.set_model_sha256(UploadAll(server_, ScriptedModel("{}")));
    spec.set_device_id("cpu");
    spec.add_inputs("float32[B,3]");
    spec.set_mode(v1::MODE_INFER);
    spec.set_run_as(v1::RUN_AS_TORCHSCRIPT);
    spec.set_cap_bytes(1 << 30);
    spec.mutable_profile()->add_batches(1);
    grpc::ClientContext context;
    v1::CreateProbeResponse response;
    EXPECT_THAT(probes_->CreateProbe(&context, request, &response), IsRpcOk());
    id_ = response.probe().id();
    server_.runner().WaitForOrders(1);
  }

  v1::WaitProbeRequest Request(std::optional<int64_t> milliseconds = {}) const {
    v1::WaitProbeRequest request;
    request.set_id(id_);
    if (milliseconds) {
      request.mutable_timeout()->set_nanos(
          static_cast<int32_t>(*milliseconds * 1'000'000));
    }
    return request;
  }
  grpc::Status Wait(const v1::WaitProbeRequest& request) {
    grpc::ClientContext context;
    v1::WaitProbeResponse response;
    const grpc::Status status =
        probes_->WaitProbe(&context, request, &response);
    probe_ = response.probe();
    return status;
  }
  // The versions that a watch gets until its end.
  std::vector<int64_t> Watch(int64_t after_version) {
    grpc::ClientContext context;
    v1::WatchProbeRequest request;
    request.set_id(id_);
    request.set_after_version(after_version);
    const auto reader = probes_->WatchProbe(&context, request);
    std::vector<int64_t> versions;
    v1::WatchProbeResponse response;
    while (reader->Read(&response)) {
      versions.push_back(response.probe().version());
    }
    EXPECT_THAT(reader->Finish(), IsRpcOk());
    return versions;
  }

  ApiServer server_;
  std::unique_ptr<v1::ProbeService::Stub> probes_ = server_.probes();
  std::string id_;
  v1::Probe probe_;
};

TEST_F(ProbeFollowingTest, AWaitEndsWithTheProbe) {
  auto waiting =
      std::async(std::launch::async, [this] { return Wait(Request()); });
  server_.runner().LetGo();
  EXPECT_THAT(waiting.get(), IsRpcOk());
  EXPECT_EQ(probe_.state(), v1::PROBE_STATE_SUCCEEDED);
  EXPECT_EQ(probe_.trials_size(), 1);
  EXPECT_THAT(Wait(Request()), IsRpcOk()) << "and at once when it has ended";
}

TEST_F(ProbeFollowingTest, AWaitEndsWhenItsTimeIsOver) {
  EXPECT_THAT(Wait(Request(1)), IsRpcOk());
  EXPECT_EQ(probe_.state(), v1::PROBE_STATE_RUNNING);
  EXPECT_THAT(Wait(Request(0)), IsRpcOk());
  EXPECT_EQ(probe_.state(), v1::PROBE_STATE_RUNNING);
}

TEST_F(ProbeFollowingTest, AWaitIsRefused) {
  v1::WaitProbeRequest request = Request();
  request.mutable_timeout()->set_seconds(-1);
  EXPECT_THAT(Wait(request), IsRpcError(grpc::StatusCode::INVALID_ARGUMENT,
                                        "INVALID_REQUEST", "timeout"));
  request = Request();
  request.set_id("none");
  EXPECT_THAT(Wait(request),
              IsRpcError(grpc::StatusCode::NOT_FOUND, "PROBE_NOT_FOUND", "id"));
}

TEST_F(ProbeFollowingTest, AWaitEndsWithTheDaemon) {
  auto waiting =
      std::async(std::launch::async, [this] { return Wait(Request()); });
  while (server_.places().watches.taken() == 0) std::this_thread::yield();
  server_.Stop();
  EXPECT_EQ(waiting.get().error_code(), grpc::StatusCode::UNAVAILABLE);
}

// No thread blocks: other calls are answered meanwhile.
TEST_F(ProbeFollowingTest, ManyMayWait) {
  constexpr int kWaits = 900;  // there are places for a thousand
  struct Call {
    grpc::ClientContext context;
    v1::WaitProbeRequest request;
    v1::WaitProbeResponse response;
  };
  std::vector<Call> calls(kWaits);
  std::atomic<int> answered = 0;
  std::promise<void> all_answered;
  for (Call& call : calls) {
    call.request = Request();
    probes_->async()->WaitProbe(&call.context, &call.request, &call.response,
                                [&](const grpc::Status& status) {
                                  EXPECT_THAT(status, IsRpcOk());
                                  if (++answered == kWaits)
                                    all_answered.set_value();
                                });
  }
  EXPECT_THAT(Wait(Request(0)), IsRpcOk());
  EXPECT_EQ(answered, 0);
  server_.runner().LetGo();
  all_answered.get_future().wait();
  for (const Call& call : calls) {
    EXPECT_EQ(call.response.probe().state(), v1::PROBE_STATE_SUCCEEDED);
  }
}

TEST_F(ProbeFollowingTest, AClientThatLeavesGivesItsPlaceBack) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::milliseconds(20));
  v1::WaitProbeResponse response;
  EXPECT_EQ(probes_->WaitProbe(&context, Request(), &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  server_.runner().LetGo();
  EXPECT_THAT(Wait(Request()), IsRpcOk());
}

TEST_F(ProbeFollowingTest, AWatchSendsNothingThatItsCallerHas) {
  Wait(Request(0));
  const int64_t known = probe_.version();
  server_.runner().LetGo();
  Wait(Request());
  const int64_t last = probe_.version();
  EXPECT_EQ(Watch(known).back(), last);
  EXPECT_THAT(Watch(last), IsEmpty());
  EXPECT_EQ(Watch(last + 1).size(), 1U) << "a version that never was";
}

}  // namespace
}  // namespace memplan::testing
