// Bounds on connections and clients: how long they last, how many calls they may
// have open, and that one client cannot take what is there for all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/base/descriptor.h"
#include "tests/server/api/server_program_fixture.h"
#include "tests/support/loopback_client.h"

namespace memplan::testing {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

constexpr int kPatienceMillis = 30'000;

class ConnectionsTest : public ServerProgramTest {
 protected:
  struct OpenWatch {
    TestContext context;
    std::unique_ptr<grpc::ClientReader<v1::WatchProbeResponse>> reader;
    v1::WatchProbeResponse response;
  };
  static std::unique_ptr<OpenWatch> Watch(v1::ProbeService::Stub& stub,
                                          const std::string& id,
                                          std::chrono::milliseconds patience) {
    auto watch = std::make_unique<OpenWatch>();
    watch->context.set_deadline(system_clock::now() + patience);
    v1::WatchProbeRequest request;
    request.set_id(id);
    watch->reader = stub.WatchProbe(&watch->context, request);
    return watch;
  }
};

TEST_F(ConnectionsTest, AnOldConnectionEndsAndAnotherGoesOn) {
  ServerProcess server(Arguments(
      {"--max-connection-age", "1s", "--connection-age-grace", "1s"}));
  server.WaitUntilReady();
  const auto channel = SocketChannel();
  const std::string id = StartSearch(channel, kHangs);
  const auto stub = v1::ProbeService::NewStub(channel);
  const auto watch = Watch(*stub, id, seconds(30));
  while (watch->reader->Read(&watch->response)) {
  }
  EXPECT_EQ(watch->reader->Finish().error_code(),
            grpc::StatusCode::UNAVAILABLE);
  const auto again = Watch(*stub, id, seconds(30));
  again->context.TryCancel();
  while (again->reader->Read(&again->response)) {
  }
  EXPECT_NE(again->reader->Finish().error_code(),
            grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(ListDevices(channel), IsRpcOk());
}

// Connects, says what begins a connection of HTTP/2, and then nothing more: it
// answers no ping.
Descriptor DeafClient(const std::string& address) {
  Descriptor client = ConnectToLoopback(PortOf(address));
  using std::string_view_literals::operator""sv;
  constexpr auto kPreface =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"      // RFC 9113, 3.4
      "\x00\x00\x00\x04\x00\x00\x00\x00\x00"  // SETTINGS without any
      ""sv;
  EXPECT_EQ(write(client.get(), kPreface.data(), kPreface.size()),
            static_cast<ssize_t>(kPreface.size()));
  return client;
}

TEST_F(ConnectionsTest, AClientThatAnswersNoPingIsDropped) {
  ServerProcess server(
      Arguments({"--keepalive-interval", "1s", "--keepalive-timeout", "1s"}));
  const std::string ready = server.WaitUntilReady();
  const Descriptor client = DeafClient(ValueIn(ready, "tcp"));
  bool closed = false;
  while (!closed) {
    pollfd wait = {client.get(), POLLIN, 0};
    ASSERT_GT(poll(&wait, 1, kPatienceMillis), 0) << "it was not dropped";
    std::array<char, 4096> said;
    closed = read(client.get(), said.data(), said.size()) <= 0;
  }
}

TEST_F(ConnectionsTest, CallsBeyondAConnectionsLimitWaitInTheClient) {
  ServerProcess server(Arguments({"--max-calls-per-connection", "1"}));
  server.WaitUntilReady();
  const auto channel = SocketChannel();
  const std::string id = StartSearch(channel, kHangs);
  const auto stub = v1::ProbeService::NewStub(channel);
  const auto first = Watch(*stub, id, seconds(60));
  ASSERT_TRUE(first->reader->Read(&first->response));
  const auto second = Watch(*stub, id, std::chrono::milliseconds(200));
  EXPECT_FALSE(second->reader->Read(&second->response));
  EXPECT_EQ(second->reader->Finish().error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  // Another connection has a limit of its own.
  grpc::ChannelArguments own;
  own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  EXPECT_THAT(ListDevices(grpc::CreateCustomChannel(
                  "unix:" + Socket(), grpc::InsecureChannelCredentials(), own)),
              IsRpcOk());
  first->context.TryCancel();
}

TEST_F(ConnectionsTest, OneClientLeavesPlacesForOthers) {
  ServerProcess server(Arguments());
  const std::string ready = server.WaitUntilReady();
  const auto models = v1::ModelService::NewStub(Channel(ValueIn(ready, "tcp")));
  std::vector<std::unique_ptr<Upload>> open;
  for (int i = 0; i < 4; ++i) {
    open.push_back(std::make_unique<Upload>(*models));
    open.back()->Send(Header(std::string(10, static_cast<char>('a' + i))));
  }
  // Which call the daemon sees first is not ours to say: try until one is refused.
  grpc::Status refused;
  for (int i = 0; i < 100 && refused.ok(); ++i) {
    Upload fifth(*models);
    fifth.Send(Header(std::string(20, 'z')));
    refused = fifth.End();
    if (RpcReason(refused) != "TOO_MANY_UPLOADS") refused = grpc::Status::OK;
  }
  EXPECT_THAT(refused, IsRpcError(grpc::StatusCode::RESOURCE_EXHAUSTED,
                                  "TOO_MANY_UPLOADS", ""));
  EXPECT_THAT(refused.error_message(), ::testing::HasSubstr("one client"));
  const std::string bytes = ScriptedModel("{}");
  const auto others = v1::ModelService::NewStub(SocketChannel());
  EXPECT_THAT(Upload(*others)
                  .Send(Header(bytes))
                  .Send(Chunk(0, bytes))
                  .Send(Commit())
                  .End(),
              IsRpcOk());
  for (const auto& upload : open) (void)upload->Cancel();
}

}  // namespace
}  // namespace memplan::testing
