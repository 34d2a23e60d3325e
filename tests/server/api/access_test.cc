// Who may call what over the unix sockets, seen from outside the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "memplan/v1/admission_service.pb.h"
#include "memplan/v1/plan_service.pb.h"
#include "memplan/v1/server_service.pb.h"
#include "server/program/rpc_server.h"
#include "server/services/call_observer.h"
#include "tests/server/api/server_program_fixture.h"

namespace memplan::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class AccessTest : public ServerProgramTest {
 protected:
  std::string ObserverSocket() const { return dir_.Path("observer.sock"); }
  std::shared_ptr<grpc::Channel> ObserverChannel() const {
    return Channel("unix:" + ObserverSocket());
  }
  static unsigned ModeOf(const std::string& path) {
    struct stat there = {};
    EXPECT_EQ(lstat(path.c_str(), &there), 0) << path;
    return there.st_mode & 07777U;
  }
  static gid_t GroupOf(const std::string& path) {
    struct stat there = {};
    EXPECT_EQ(lstat(path.c_str(), &there), 0) << path;
    return there.st_gid;
  }
};

// A call of any method, with an empty request.
grpc::Status CallEmpty(const std::shared_ptr<grpc::Channel>& channel,
                       const CallMethod& method) {
  grpc::GenericStub stub(channel);
  TestContext context;
  const grpc::Slice nothing;
  const grpc::ByteBuffer request(&nothing, 1);
  grpc::ByteBuffer response;
  std::promise<grpc::Status> answered;
  stub.UnaryCall(&context, "/" + method.service + "/" + method.method, {},
                 &request, &response, [&answered](grpc::Status status) {
                   answered.set_value(std::move(status));
                 });
  return answered.get_future().get();
}

// Those of every service that the daemon says it has. Descriptors are found only
// if something of their files is named.
std::vector<CallMethod> AllMethods() {
  (void)v1::CheckRequest::descriptor();
  (void)v1::ListDevicesRequest::descriptor();
  (void)v1::GetModelRequest::descriptor();
  (void)v1::ReplayRequest::descriptor();
  (void)v1::GetProbeRequest::descriptor();
  (void)v1::GetServerStatusRequest::descriptor();
  std::vector<CallMethod> methods;
  for (const std::string& service : ServiceNames()) {
    const std::vector<CallMethod> some = MethodsOf({service});
    EXPECT_FALSE(some.empty()) << "no methods of " << service;
    methods.insert(methods.end(), some.begin(), some.end());
  }
  return methods;
}

bool OnlyReads(const std::string& method) {
  // It waits to hold memory.
  if (method == "WaitForMemory") return false;
  for (const char* verb :
       {"Get", "List", "Watch", "Wait", "Check", "BatchCheck"}) {
    if (method.starts_with(verb)) return true;
  }
  return false;
}

TEST_F(AccessTest, ASocketIsTheGroupsAndNobodyElsesUnlessToldSo) {
  ServerProcess server(Arguments());
  server.WaitUntilReady();
  EXPECT_EQ(ModeOf(Socket()), 0660U);
  EXPECT_EQ(GroupOf(Socket()), getegid());
}

TEST_F(AccessTest, SocketsHaveTheModesAndGroupsAskedFor) {
  const gid_t group = geteuid() == 0 ? 12345 : getegid();
  ServerProcess server(
      Arguments({"--socket-mode", "0600", "--observer-socket", ObserverSocket(),
                 "--observer-socket-mode", "0666", "--observer-socket-group",
                 std::to_string(group)}));
  EXPECT_THAT(server.WaitUntilReady(), StartsWith("ready"));
  EXPECT_EQ(ModeOf(Socket()), 0600U);
  EXPECT_EQ(ModeOf(ObserverSocket()), 0666U);
  EXPECT_EQ(GroupOf(ObserverSocket()), group);
  server.Signal(SIGTERM);
  EXPECT_EQ(server.WaitForExit(), 0);
  // Nothing but the store is left.
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
    left.insert(entry.path().filename());
  }
  EXPECT_EQ(left, std::set<std::string>{"store"});
}

TEST_F(AccessTest, ObserversMayCallWhatReadsAndNothingElse) {
  ServerProcess server(Arguments({"--observer-socket", ObserverSocket()}));
  server.WaitUntilReady();
  const auto channel = ObserverChannel();
  const std::vector<CallMethod> methods = AllMethods();
  int refused = 0;
  for (const CallMethod& method : methods) {
    const grpc::Status status = CallEmpty(channel, method);
    if (OnlyReads(method.method)) {
      EXPECT_NE(status.error_code(), grpc::StatusCode::UNIMPLEMENTED)
          << method.method;
      EXPECT_NE(status.error_code(), grpc::StatusCode::PERMISSION_DENIED)
          << method.method;
    } else {
      ++refused;
      EXPECT_THAT(status, IsRpcError(grpc::StatusCode::PERMISSION_DENIED,
                                     "OBSERVER_ONLY", ""))
          << method.method;
      EXPECT_THAT(status.error_message(), HasSubstr(Socket()));
    }
  }
  EXPECT_GE(refused, 8);
  EXPECT_THAT(ListDevices(channel), IsRpcOk());
  EXPECT_EQ(HealthOf(channel, ""), kServing);
}

TEST_F(AccessTest, ObserversWatchAProbeToItsEnd) {
  ServerProcess server(Arguments({"--observer-socket", ObserverSocket()}));
  server.WaitUntilReady();
  v1::WatchProbeRequest request;
  request.set_id(StartSearch(SocketChannel(), R"({"limit_batch": 37})"));
  TestContext context;
  const auto stub = v1::ProbeService::NewStub(ObserverChannel());
  const auto watch = stub->WatchProbe(&context, request);
  v1::WatchProbeResponse response;
  while (watch->Read(&response)) {
  }
  EXPECT_THAT(watch->Finish(), IsRpcOk());
  EXPECT_EQ(response.probe().plan().safe_batch(), 37);
}

TEST_F(AccessTest, RefusesSocketsThatCannotBeAsAsked) {
  const auto words_of = [this](const std::vector<std::string>& more) {
    ServerProcess server(Arguments(more));
    const std::string words = server.WaitForWords();
    EXPECT_EQ(server.WaitForExit(), 2);
    return words;
  };
  EXPECT_THAT(words_of({"--socket-group", "no-such-group"}),
              HasSubstr("there is no group no-such-group; make it with"));
  EXPECT_THAT(words_of({"--socket-mode", "66"}),
              HasSubstr("--socket-mode: \"66\" are no permissions"));
  EXPECT_THAT(words_of({"--observer-socket", Socket()}),
              HasSubstr("are the same"));
}

}  // namespace
}  // namespace memplan::testing
