// A daemon one of whose devices hangs in its driver.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "tests/server/api/server_program_fixture.h"

namespace memplan::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kOneHangs[] = R"({"devices": [
    {"id": "GPU-a", "total": "80GiB", "hangs": true},
    {"id": "GPU-b", "total": "80GiB", "used": "1GiB"}]})";
constexpr char kNoneHangs[] = R"({"devices": [
    {"id": "GPU-a", "total": "80GiB"},
    {"id": "GPU-b", "total": "80GiB", "used": "1GiB"}]})";

class HangingDeviceTest : public ServerProgramTest {
 protected:
  HangingDeviceTest() { Write(kOneHangs); }

  void Write(const std::string& script) const {
    std::ofstream(dir_.Path("new")) << script;
    std::filesystem::rename(dir_.Path("new"), dir_.Path("devices.json"));
  }
  std::vector<std::string> WithScript() const {
    return Arguments({"--devices", "script:" + dir_.Path("devices.json")});
  }
  v1::Device Get(const std::string& id) const {
    TestContext context;
    v1::GetDeviceRequest request;
    request.set_id(id);
    v1::GetDeviceResponse response;
    EXPECT_THAT(v1::DeviceService::NewStub(SocketChannel())
                    ->GetDevice(&context, request, &response),
                IsRpcOk());
    return response.device();
  }
  v1::Probe WaitForEnd(const std::string& id) const {
    TestContext context;
    v1::WatchProbeRequest request;
    request.set_id(id);
    const auto stub = v1::ProbeService::NewStub(SocketChannel());
    const auto watch = stub->WatchProbe(&context, request);
    v1::WatchProbeResponse response;
    while (watch->Read(&response)) {
    }
    EXPECT_THAT(watch->Finish(), IsRpcOk());
    return response.probe();
  }
};

TEST_F(HangingDeviceTest, AProbeOnTheCpuRunsToItsEnd) {
  ServerProcess server(WithScript());
  server.WaitUntilReady();
  const v1::Probe probe =
      WaitForEnd(StartSearch(SocketChannel(), R"({"limit_batch": 37})"));
  EXPECT_EQ(probe.state(), v1::PROBE_STATE_SUCCEEDED);
  EXPECT_EQ(probe.plan().safe_batch(), 37);
  server.Signal(SIGTERM);
  EXPECT_EQ(server.WaitForExit(), 0);
}

TEST_F(HangingDeviceTest, IsShownAsSuchUntilItAnswers) {
  ServerProcess server(WithScript());
  server.WaitUntilReady();
  TestContext context;
  v1::ListDevicesResponse all;
  ASSERT_THAT(v1::DeviceService::NewStub(SocketChannel())
                  ->ListDevices(&context, {}, &all),
              IsRpcOk());
  ASSERT_EQ(all.devices_size(), 3);
  EXPECT_EQ(all.devices(0).id(), "GPU-a");
  EXPECT_THAT(all.devices(0).read_error(),
              HasSubstr("not answered within 8 s"));
  EXPECT_FALSE(all.devices(0).has_free_bytes());
  EXPECT_FALSE(all.devices(0).has_sample_time());
  EXPECT_EQ(all.devices(1).read_error(), "");
  EXPECT_EQ(all.devices(1).free_bytes(), int64_t{79} << 30);
  EXPECT_EQ(all.devices(2).id(), "cpu");
  EXPECT_EQ(all.devices(2).read_error(), "");
  EXPECT_EQ(Get("GPU-a").read_error(), all.devices(0).read_error());
  EXPECT_EQ(HealthOf(SocketChannel(), "devices", kNotServing), kNotServing);

  Write(kNoneHangs);
  v1::Device device = Get("GPU-a");
  while (!device.read_error().empty()) device = Get("GPU-a");
  EXPECT_EQ(device.free_bytes(), int64_t{80} << 30);
  EXPECT_GT(device.snapshot_id(), 0);
}

}  // namespace
}  // namespace memplan::testing
