// The program itself: how it starts, what it weighs, how it ends.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <signal.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "memplan/v1/server_service.grpc.pb.h"
#include "tests/server/api/server_program_fixture.h"

namespace memplan::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(ServerProgramTest, ServesOnTheSocketOnTcpAndTheMetricsPage) {
  ServerProcess server(Arguments());
  const std::string ready = server.WaitUntilReady();
  EXPECT_THAT(ready, StartsWith("ready socket=" + Socket()));
  EXPECT_EQ(ValueIn(ready, "store"), dir_.Path("store"));
  EXPECT_THAT(ListDevices(SocketChannel()), IsRpcOk());
  EXPECT_THAT(ListDevices(Channel(ValueIn(ready, "tcp"))), IsRpcOk());
  const auto page =
      httplib::Client("http://" + ValueIn(ready, "metrics")).Get("/metrics");
  ASSERT_TRUE(page);
  EXPECT_THAT(page->body,
              HasSubstr("memplan_device_memory_total_bytes{device=\"cpu\"}"));
}

TEST_F(ServerProgramTest, EndsInOrderOnSigtermWithAWatchOpen) {
  ServerProcess server(Arguments({"--drain-grace", "1s"}));
  server.WaitUntilReady();
  const std::string id =
      StartSearch(SocketChannel(), R"({"on_batch": {"8": "hangs"}})");
  TestContext context;
  v1::WatchProbeRequest request;
  request.set_id(id);
  const auto stub = v1::ProbeService::NewStub(SocketChannel());
  const auto watch = stub->WatchProbe(&context, request);
  v1::WatchProbeResponse response;
  ASSERT_TRUE(watch->Read(&response));
  server.Signal(SIGTERM);
  while (watch->Read(&response)) {
  }
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(server.WaitForExit(), 0);
  EXPECT_FALSE(std::filesystem::exists(Socket()));
}

TEST_F(ServerProgramTest, RunsACutOffProbeAgainAfterTheNextStart) {
  std::string id;
  {
    ServerProcess server(Arguments());
    server.WaitUntilReady();
    // Hangs once: the marker is there the next time.
    const std::string script = R"({"limit_batch": 37, "on_batch": {"*": )"
                               R"("hangs"}, "once": ")" +
                               dir_.Path("marker") + "\"}";
    id = StartSearch(SocketChannel(), script);
    while (!std::filesystem::exists(dir_.Path("marker"))) {
      std::this_thread::yield();
    }
    server.Signal(SIGKILL);
    EXPECT_EQ(server.WaitForExit(), -SIGKILL);
  }
  ServerProcess server(Arguments());
  server.WaitUntilReady();
  TestContext context;
  v1::WatchProbeRequest request;
  request.set_id(id);
  const auto stub = v1::ProbeService::NewStub(SocketChannel());
  const auto watch = stub->WatchProbe(&context, request);
  v1::WatchProbeResponse response;
  while (watch->Read(&response)) {
  }
  EXPECT_THAT(watch->Finish(), IsRpcOk());
  EXPECT_EQ(response.probe().state(), v1::PROBE_STATE_SUCCEEDED);
  EXPECT_EQ(response.probe().plan().safe_batch(), 37);
  EXPECT_EQ(response.probe().restart_count(), 1);
}

TEST_F(ServerProgramTest, LeavesNothingBesideItsSocketWhenKilled) {
  ServerProcess server(Arguments());
  server.WaitUntilReady();
  server.Signal(SIGKILL);
  EXPECT_EQ(server.WaitForExit(), -SIGKILL);
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
    EXPECT_THAT(entry.path().filename().string(), Not(StartsWith(".")));
  }
}

TEST_F(ServerProgramTest, EndsWithStdinIfToldSo) {
  ServerProcess server(Arguments({"--exit-with-stdin"}));
  server.WaitUntilReady();
  server.CloseStdin();
  EXPECT_EQ(server.WaitForExit(), 0);
}

TEST_F(ServerProgramTest, OutlivesStdinOtherwise) {
  ServerProcess server(Arguments());
  server.WaitUntilReady();
  server.CloseStdin();
  EXPECT_THAT(ListDevices(SocketChannel()), IsRpcOk());
  server.Signal(SIGINT);
  EXPECT_EQ(server.WaitForExit(), 0);
}

TEST_F(ServerProgramTest, TakesOverFromADeadDaemonButNotFromALivingOne) {
  ServerProcess first(Arguments());
  first.WaitUntilReady();
  ServerProcess second(Arguments());
  EXPECT_THAT(second.WaitForWords(), HasSubstr("a daemon answers at"));
  EXPECT_EQ(second.WaitForExit(), 1);
  first.Signal(SIGKILL);
  first.WaitForExit();
  ServerProcess third(Arguments());
  EXPECT_THAT(third.WaitUntilReady(), StartsWith("ready socket="));
}

TEST_F(ServerProgramTest, RefusesAStoreInUseAndPortsInUse) {
  ServerProcess first(Arguments());
  const std::string ready = first.WaitUntilReady();
  const auto words_of = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments =
        Arguments({"--socket", dir_.Path("other.sock")});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return ServerProcess(std::move(arguments)).WaitForWords();
  };
  EXPECT_THAT(words_of({}), HasSubstr(std::to_string(first.pid())));
  EXPECT_THAT(words_of({"--store", dir_.Path("other"), "--listen",
                        ValueIn(ready, "tcp")}),
              HasSubstr("choose another with --listen"));
  EXPECT_THAT(words_of({"--store", dir_.Path("other"), "--metrics",
                        ValueIn(ready, "metrics")}),
              HasSubstr("--metrics none"));
}

TEST_F(ServerProgramTest, SaysThatItIsHealthy) {
  ServerProcess server(Arguments());
  server.WaitUntilReady();
  EXPECT_EQ(HealthOf(SocketChannel(), ""), kServing);
}

TEST_F(ServerProgramTest, TellsItsStatusAndItsPartsToHealthChecks) {
  ServerProcess server(Arguments());
  server.WaitUntilReady();
  const auto stub = v1::ServerService::NewStub(SocketChannel());
  v1::GetServerStatusResponse response;
  while (response.status().parts_size() == 0) {
    TestContext context;
    ASSERT_THAT(stub->GetServerStatus(&context, {}, &response), IsRpcOk());
  }
  EXPECT_EQ(response.status().state(), v1::SERVER_STATE_SERVING);
  EXPECT_EQ(response.status().pid(), server.pid());
  EXPECT_EQ(response.status().store_path(), dir_.Path("store"));
  EXPECT_EQ(response.status().worker_path(), MEMPLAN_WORKER);
  for (const char* part : {"devices", "store", "workers"}) {
    EXPECT_EQ(HealthOf(SocketChannel(), part), kServing) << part;
  }
  EXPECT_EQ(HealthOf(SocketChannel(), "memplan.v1.ServerService"), kServing);
}

TEST_F(ServerProgramTest, WorkersThatCannotStartAreNotHealthy) {
  ServerProcess server(Arguments({"--worker", dir_.Path("none")}));
  server.WaitUntilReady();
  EXPECT_EQ(HealthOf(SocketChannel(), "workers", kNotServing), kNotServing);
  EXPECT_EQ(HealthOf(SocketChannel(), ""), kServing);
}

TEST_F(ServerProgramTest, LogsJsonWithTheClientsRequestIdAtTheLevelSet) {
  ServerProcess server(Arguments());
  server.WaitUntilReady();
  const auto stub = v1::ServerService::NewStub(SocketChannel());
  v1::SetLogLevelRequest request;
  request.set_level(v1::LOG_LEVEL_DEBUG);
  v1::SetLogLevelResponse response;
  TestContext context;
  context.AddMetadata("x-request-id", "set-1");
  ASSERT_THAT(stub->SetLogLevel(&context, request, &response), IsRpcOk());
  EXPECT_EQ(response.previous(), v1::LOG_LEVEL_INFO);
  const auto& told = context.GetServerInitialMetadata();
  ASSERT_EQ(told.count("x-request-id"), 1U);
  EXPECT_EQ(told.find("x-request-id")->second, "set-1");
  TestContext get;
  v1::GetServerStatusResponse status;
  ASSERT_THAT(stub->GetServerStatus(&get, {}, &status), IsRpcOk());
  server.Signal(SIGTERM);
  std::istringstream lines(server.WaitForWords());
  std::map<std::string, nlohmann::json> by_method;
  for (std::string line; std::getline(lines, line);) {
    const auto object = nlohmann::json::parse(line);
    if (object.contains("method")) by_method[object["method"]] = object;
  }
  const auto set = by_method["memplan.v1.ServerService/SetLogLevel"];
  EXPECT_EQ(set["request_id"], "set-1");
  EXPECT_EQ(set["code"], "OK");
  const auto got = by_method["memplan.v1.ServerService/GetServerStatus"];
  EXPECT_EQ(got["level"], "debug");
  EXPECT_FALSE(got["request_id"].get<std::string>().empty());
}

TEST_F(ServerProgramTest, LogsWhichCallMadeAProbeAndHowThatEnded) {
  ServerProcess server(Arguments());
  server.WaitUntilReady();
  const std::string id = StartSearch(SocketChannel(), R"({"limit_batch": 9})");
  const auto stub = v1::ProbeService::NewStub(SocketChannel());
  v1::WaitProbeRequest request;
  request.set_id(id);
  v1::WaitProbeResponse response;
  TestContext context;
  ASSERT_THAT(stub->WaitProbe(&context, request, &response), IsRpcOk());
  server.Signal(SIGTERM);
  std::istringstream lines(server.WaitForWords());
  std::map<std::string, nlohmann::json> by_message;
  for (std::string line; std::getline(lines, line);) {
    const auto object = nlohmann::json::parse(line);
    if (object.value("probe_id", "") == id) {
      by_message[object["message"]] = object;
    }
  }
  EXPECT_FALSE(by_message["the probe is taken"]["request_id"].is_null());
  const std::string end = "the probe has ended after " +
                          std::to_string(response.probe().trials_size()) +
                          " trials: safe batch 9, at most 10.0 MiB allocated, "
                          "warm after 0 steps with 10.0 MiB";
  EXPECT_EQ(by_message[end]["device"], "cpu");
  EXPECT_EQ(by_message[end]["model"], response.probe().spec().model_sha256());
}

TEST_F(ServerProgramTest, RefusesALogLevelThatIsNone) {
  ServerProcess server(Arguments());
  server.WaitUntilReady();
  TestContext context;
  v1::SetLogLevelResponse response;
  EXPECT_EQ(v1::ServerService::NewStub(SocketChannel())
                ->SetLogLevel(&context, {}, &response)
                .error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ServerProgramTest, LinksNoLibtorchAndNoCuda) {
  const std::string command =
      std::string("ldd ") + MEMPLAN_SERVER_PROGRAM + " 2>&1";
  FILE* ldd = popen(command.c_str(), "r");
  ASSERT_NE(ldd, nullptr);
  std::string libraries;
  std::array<char, 4096> some;
  while (const size_t count = std::fread(some.data(), 1, some.size(), ldd)) {
    libraries.append(some.data(), count);
  }
  ASSERT_EQ(pclose(ldd), 0);
  EXPECT_THAT(libraries, HasSubstr("libgrpc++"));
  for (const char* unwanted : {"libtorch", "libc10", "libcu", "libnv"}) {
    EXPECT_THAT(libraries, Not(HasSubstr(unwanted)));
  }
}

#ifndef MEMPLAN_SANITIZED
TEST_F(ServerProgramTest, HoldsLittleMemoryWhenIdle) {
  ServerProcess server(Arguments());
  server.WaitUntilReady();
  ASSERT_THAT(ListDevices(SocketChannel()), IsRpcOk());
  std::ifstream status("/proc/" + std::to_string(server.pid()) + "/status");
  std::string word;
  int64_t resident_kib = 0;
  while (status >> word) {
    if (word == "VmRSS:") status >> resident_kib;
  }
  EXPECT_GT(resident_kib, 0);
  EXPECT_LT(resident_kib, 40 * 1024);
}
#endif

}  // namespace
}  // namespace memplan::testing
