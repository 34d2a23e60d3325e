// How the daemon ends: in which order, how soon, and what becomes of whom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "google/rpc/error_details.pb.h"
#include "memplan/v1/server_service.grpc.pb.h"
#include "tests/server/api/server_program_fixture.h"
#include "tests/support/loopback_client.h"

namespace memplan::testing {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

// More than any run here takes by itself, on a loaded machine too.
constexpr seconds kSlack{20};

class DrainTest : public ServerProgramTest {
 protected:
  // What the daemon says of its state; UNSPECIFIED if it does not answer.
  v1::ServerState State() {
    TestContext context;
    v1::GetServerStatusResponse response;
    (void)v1::ServerService::NewStub(SocketChannel())
        ->GetServerStatus(&context, {}, &response);
    return response.status().state();
  }
  void WaitUntilDraining() {
    while (State() == v1::SERVER_STATE_SERVING) {
    }
    ASSERT_EQ(State(), v1::SERVER_STATE_DRAINING);
  }
  v1::Probe GetProbe(const std::string& id) {
    TestContext context;
    v1::GetProbeRequest request;
    request.set_id(id);
    v1::GetProbeResponse response;
    EXPECT_THAT(v1::ProbeService::NewStub(SocketChannel())
                    ->GetProbe(&context, request, &response),
                IsRpcOk());
    return response.probe();
  }
  void WaitUntilRunning(const std::string& id) {
    while (GetProbe(id).state() != v1::PROBE_STATE_RUNNING) {
    }
  }
  grpc::Status TryToCreateAProbe() {
    TestContext context;
    v1::CreateProbeResponse response;
    return v1::ProbeService::NewStub(SocketChannel())
        ->CreateProbe(&context, SearchRequest(ScriptedModel(kHangs)),
                      &response);
  }
  // A watch of a probe that has sent its first message.
  struct OpenWatch {
    TestContext context;
    std::unique_ptr<v1::ProbeService::Stub> stub;
    std::unique_ptr<grpc::ClientReader<v1::WatchProbeResponse>> reader;
    v1::WatchProbeResponse response;
  };
  std::unique_ptr<OpenWatch> Watch(const std::string& id) {
    auto watch = std::make_unique<OpenWatch>();
    watch->stub = v1::ProbeService::NewStub(SocketChannel());
    v1::WatchProbeRequest request;
    request.set_id(id);
    watch->reader = watch->stub->WatchProbe(&watch->context, request);
    EXPECT_TRUE(watch->reader->Read(&watch->response));
    return watch;
  }
};

TEST_F(DrainTest, EndsWithinItsGraceWhateverIsOpen) {
  ServerProcess server(Arguments({"--drain-grace", "1s"}));
  const std::string ready = server.WaitUntilReady();
  const std::string id = StartSearch(SocketChannel(), kHangs);
  WaitUntilRunning(id);
  std::vector<std::unique_ptr<OpenWatch>> watches;
  for (int i = 0; i < 5; ++i) watches.push_back(Watch(id));
  // It never says anything.
  const Descriptor silent = ConnectToLoopback(PortOf(ValueIn(ready, "tcp")));
  const auto models = v1::ModelService::NewStub(SocketChannel());
  Upload upload(*models);
  upload.Send(Header(std::string(100, 'x')));

  const Clock::time_point begin = Clock::now();
  server.Signal(SIGTERM);
  for (const auto& watch : watches) {
    while (watch->reader->Read(&watch->response)) {
    }
    EXPECT_EQ(watch->reader->Finish().error_code(),
              grpc::StatusCode::UNAVAILABLE);
  }
  EXPECT_FALSE(upload.End().ok());
  EXPECT_EQ(server.WaitForExit(), 0);
  EXPECT_LT(Clock::now() - begin, seconds(1) + kSlack);
  EXPECT_FALSE(std::filesystem::exists(Socket()));
}

TEST_F(DrainTest, RefusesNewWorkButAnswersWhatOnlyReads) {
  ServerProcess server(Arguments({"--drain-grace", "60s"}));
  server.WaitUntilReady();
  const std::string id = StartSearch(SocketChannel(), kHangs);
  WaitUntilRunning(id);
  server.Signal(SIGTERM);
  WaitUntilDraining();
  EXPECT_EQ(HealthOf(SocketChannel(), "", kNotServing), kNotServing);

  grpc::Status refused;
  do {  // the moment after the state turned, a call may still slip in
    refused = TryToCreateAProbe();
  } while (refused.ok());
  EXPECT_THAT(refused,
              IsRpcError(grpc::StatusCode::UNAVAILABLE, "SHUTTING_DOWN", ""));
  const auto retry = FindDetail<google::rpc::RetryInfo>(refused);
  ASSERT_TRUE(retry);
  EXPECT_GT(retry->retry_delay().seconds(), 0);
  const auto models = v1::ModelService::NewStub(SocketChannel());
  EXPECT_THAT(Upload(*models).Send(Header("new bytes")).End(),
              IsRpcError(grpc::StatusCode::UNAVAILABLE, "SHUTTING_DOWN", ""));
  EXPECT_EQ(GetProbe(id).state(), v1::PROBE_STATE_RUNNING);

  server.Signal(SIGTERM);  // the second ends it at once
  EXPECT_EQ(server.WaitForExit(), -SIGTERM);
}

TEST_F(DrainTest, TakesNewWorkWhileItsDelayLasts) {
  ServerProcess server(
      Arguments({"--drain-delay", "60s", "--drain-grace", "1s"}));
  server.WaitUntilReady();
  StartSearch(SocketChannel(), kHangs);
  server.Signal(SIGTERM);
  WaitUntilDraining();
  EXPECT_EQ(HealthOf(SocketChannel(), "", kNotServing), kNotServing);
  EXPECT_THAT(TryToCreateAProbe(), IsRpcOk());
  server.Signal(SIGTERM);
  EXPECT_EQ(server.WaitForExit(), -SIGTERM);
}

TEST_F(DrainTest, LetsARunningTrialEndAndGoesOnFromThereAfterTheNextStart) {
  // Each trial waits for the test to open the gate once.
  const std::string gate = dir_.Path("gate");
  ASSERT_EQ(mkfifo(gate.c_str(), 0600), 0);
  const std::string script =
      R"({"limit_batch": 9, "on_batch": {"8": "waits at the gate"}, "gate": ")" +
      gate + R"(", "log": ")" + dir_.Path("log") + "\"}";
  std::string id;
  {
    ServerProcess server(Arguments({"--drain-grace", "60s"}));
    server.WaitUntilReady();
    id = StartSearch(SocketChannel(), script);
    while (!std::filesystem::exists(dir_.Path("log"))) {
    }
    server.Signal(SIGTERM);
    WaitUntilDraining();
    { const std::ofstream open_gate(gate); }
    EXPECT_EQ(server.WaitForExit(), 0);
  }
  // Its end was seen and kept: one line, and no worker was killed.
  const auto runs_of_8 = [this] {
    std::ifstream log(dir_.Path("log"));
    int runs = 0;
    for (std::string pid, batch; log >> pid >> batch;) runs += batch == "8";
    return runs;
  };
  EXPECT_EQ(runs_of_8(), 1);
  ServerProcess server(Arguments());
  server.WaitUntilReady();
  // Were batch 8 run again, it would wait at the gate for ever.
  v1::Probe probe = GetProbe(id);
  const Clock::time_point begin = Clock::now();
  while (probe.state() != v1::PROBE_STATE_SUCCEEDED &&
         Clock::now() - begin < kSlack) {
    probe = GetProbe(id);
  }
  EXPECT_EQ(probe.state(), v1::PROBE_STATE_SUCCEEDED);
  EXPECT_EQ(probe.plan().safe_batch(), 9);
  EXPECT_EQ(probe.restart_count(), 1);
  EXPECT_EQ(probe.trials(0).batch(), 8);
  EXPECT_EQ(runs_of_8(), 1);
}

}  // namespace
}  // namespace memplan::testing
