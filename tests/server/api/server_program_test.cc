// The program itself: how it starts, what it weighs, how it ends.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
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

#include "memplan/v1/device_service.grpc.pb.h"
#include "memplan/v1/model_service.grpc.pb.h"
#include "memplan/v1/probe_service.grpc.pb.h"
#include "memplan/v1/server_service.grpc.pb.h"
#include "tests/server/api/api_server.h"
#include "tests/server/api/rpc_matchers.h"
#include "tests/server/api/server_process.h"
#include "tests/server/api/upload_client.h"
#include "tests/support/scripted_model.h"
#include "tests/support/temp_dir.h"

namespace memplan::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// The health service's answers: its field 1.
constexpr char kServing[] = "\x08\x01";
constexpr char kNotServing[] = "\x08\x02";

// One health check of `part`, as bytes, since gRPC installs no header for it.
std::string CheckHealth(const std::shared_ptr<grpc::Channel>& channel,
                        const std::string& part) {
  std::string bytes;
  if (!part.empty()) {
    bytes = "\x0a" + std::string(1, static_cast<char>(part.size())) + part;
  }
  grpc::GenericStub stub(channel);
  TestContext context;
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  std::promise<grpc::Status> answered;
  stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", {}, &request,
                 &response, [&answered](grpc::Status status) {
                   answered.set_value(std::move(status));
                 });
  const grpc::Status status = answered.get_future().get();
  if (!status.ok()) return status.error_message();
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(response.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& piece : slices) {
    text.append(piece.begin(), piece.end());
  }
  return text;
}

// As soon as it is `wanted`, or as it is after many checks: the parts are looked
// at for the first time right after the start.
std::string HealthOf(const std::shared_ptr<grpc::Channel>& channel,
                     const std::string& part,
                     const std::string& wanted = kServing) {
  std::string health;
  for (int check = 0; check < 1000 && health != wanted; ++check) {
    health = CheckHealth(channel, part);
  }
  return health;
}

class ServerProgramTest : public ::testing::Test {
 protected:
  std::vector<std::string> Arguments(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {
        "--store",   dir_.Path("store"), "--socket", Socket(),
        "--worker",  MEMPLAN_WORKER,     "--listen", "127.0.0.1:0",
        "--metrics", "127.0.0.1:0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::string Socket() const { return dir_.Path("memplan.sock"); }

  static std::shared_ptr<grpc::Channel> Channel(const std::string& address) {
    return grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  }
  std::shared_ptr<grpc::Channel> SocketChannel() const {
    return Channel("unix:" + Socket());
  }
  static grpc::Status ListDevices(
      const std::shared_ptr<grpc::Channel>& channel) {
    TestContext context;
    context.set_wait_for_ready(true);
    v1::ListDevicesResponse response;
    return v1::DeviceService::NewStub(channel)->ListDevices(&context, {},
                                                            &response);
  }
  // Uploads a model that behaves as `script` says, and starts a search for it.
  static std::string StartSearch(const std::shared_ptr<grpc::Channel>& channel,
                                 const std::string& script) {
    const std::string bytes = ScriptedModel(script);
    const auto models = v1::ModelService::NewStub(channel);
    EXPECT_THAT(Upload(*models)
                    .Send(Header(bytes))
                    .Send(Chunk(0, bytes))
                    .Send(Commit())
                    .End(),
                IsRpcOk());
    v1::CreateProbeRequest request;
    v1::ProbeSpec& spec = *request.mutable_spec();
    spec.set_model_sha256(Sha256Of(bytes));
    spec.set_device_id("cpu");
    spec.add_inputs("float32[B,3]");
    spec.set_mode(v1::MODE_INFER);
    spec.set_run_as(v1::RUN_AS_TORCHSCRIPT);
    spec.set_cap_bytes(1 << 30);
    spec.mutable_search()->set_max_batch(100);
    TestContext context;
    v1::CreateProbeResponse response;
    EXPECT_THAT(v1::ProbeService::NewStub(channel)->CreateProbe(
                    &context, request, &response),
                IsRpcOk());
    return response.probe().id();
  }

  TempDir dir_;
};

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
  ServerProcess server(Arguments());
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
