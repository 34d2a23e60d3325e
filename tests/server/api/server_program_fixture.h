// memplan-server as a process with a store and sockets of the test's own, and what
// tests ask it.
#ifndef MEMPLAN_TESTS_SERVER_API_SERVER_PROGRAM_FIXTURE_H_
#define MEMPLAN_TESTS_SERVER_API_SERVER_PROGRAM_FIXTURE_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "memplan/v1/device_service.grpc.pb.h"
#include "memplan/v1/model_service.grpc.pb.h"
#include "memplan/v1/probe_service.grpc.pb.h"
#include "tests/server/api/api_server.h"
#include "tests/server/api/rpc_matchers.h"
#include "tests/server/api/server_process.h"
#include "tests/server/api/upload_client.h"
#include "tests/support/scripted_model.h"
#include "tests/support/temp_dir.h"

namespace memplan::testing {

// The health service's answers: its field 1.
inline constexpr char kServing[] = "\x08\x01";
inline constexpr char kNotServing[] = "\x08\x02";

// One health check of `part`, as bytes, since gRPC installs no header for it.
inline std::string CheckHealth(const std::shared_ptr<grpc::Channel>& channel,
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
inline std::string HealthOf(const std::shared_ptr<grpc::Channel>& channel,
                            const std::string& part,
                            const std::string& wanted = kServing) {
  std::string health;
  for (int check = 0; check < 1000 && health != wanted; ++check) {
    health = CheckHealth(channel, part);
  }
  return health;
}

// The script of a model whose every trial hangs.
inline constexpr char kHangs[] = R"({"on_batch": {"*": "hangs"}})";

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
  // A search on `cpu` of the model with these bytes.
  static v1::CreateProbeRequest SearchRequest(const std::string& bytes) {
    v1::CreateProbeRequest request;
    v1::ProbeSpec& spec = *request.mutable_spec();
    spec.set_model_sha256(Sha256Of(bytes));
    spec.set_device_id("cpu");
    spec.add_inputs("float32[B,3]");
    spec.set_mode(v1::MODE_INFER);
    spec.set_run_as(v1::RUN_AS_TORCHSCRIPT);
    spec.set_cap_bytes(1 << 30);
    spec.mutable_search()->set_max_batch(100);
    return request;
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
    TestContext context;
    v1::CreateProbeResponse response;
    EXPECT_THAT(v1::ProbeService::NewStub(channel)->CreateProbe(
                    &context, SearchRequest(bytes), &response),
                IsRpcOk());
    return response.probe().id();
  }

  TempDir dir_;
};

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SERVER_API_SERVER_PROGRAM_FIXTURE_H_
