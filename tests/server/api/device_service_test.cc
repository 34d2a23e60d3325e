#include "server/services/device_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

#include "tests/server/api/api_server.h"
#include "tests/server/api/rpc_matchers.h"

namespace memplan::testing {
namespace {

using ::testing::HasSubstr;

TEST(DeviceServiceTest, ListsGpusThenTheCpu) {
  ApiServer server;
  TestContext context;
  v1::ListDevicesResponse response;
  ASSERT_THAT(server.devices()->ListDevices(&context, {}, &response),
              IsRpcOk());
  ASSERT_EQ(response.devices_size(), 2);
  EXPECT_EQ(response.devices(0).id(), "GPU-aaaa");
  EXPECT_EQ(response.devices(0).total_bytes(), 1000LL << 20);
  EXPECT_FALSE(response.devices(0).has_used_bytes());
  EXPECT_EQ(response.devices(1).kind(), v1::DEVICE_KIND_CPU);
}

TEST(DeviceServiceTest, SaysWhyThereIsNoGpu) {
  ApiServer server([] {
    DeviceSnapshot snapshot;
    snapshot.gpu_absence_reason = "no NVIDIA driver";
    return snapshot;
  });
  TestContext context;
  v1::ListDevicesResponse response;
  ASSERT_THAT(server.devices()->ListDevices(&context, {}, &response),
              IsRpcOk());
  EXPECT_EQ(response.gpu_absence_reason(), "no NVIDIA driver");
}

TEST(DeviceServiceTest, GetsOneDevice) {
  ApiServer server;
  TestContext context;
  v1::GetDeviceRequest request;
  request.set_id("cpu");
  v1::GetDeviceResponse response;
  ASSERT_THAT(server.devices()->GetDevice(&context, request, &response),
              IsRpcOk());
  EXPECT_EQ(response.device().id(), "cpu");
}

TEST(DeviceServiceTest, NamesTheDevicesThereAreForAnUnknownOne) {
  ApiServer server;
  TestContext context;
  v1::GetDeviceRequest request;
  request.set_id("GPU-zzzz");
  v1::GetDeviceResponse response;
  const grpc::Status status =
      server.devices()->GetDevice(&context, request, &response);
  EXPECT_THAT(status, IsRpcError(grpc::StatusCode::NOT_FOUND,
                                 "DEVICE_NOT_FOUND", "id"));
  EXPECT_THAT(status.error_message(), HasSubstr("GPU-aaaa, cpu"));
}

// gRPC runs as many handlers at once as there are cores: if these waited inside
// their handlers, the last call would not get through before its deadline.
TEST(DeviceServiceTest, AHangingDriverHoldsNobodyElseUp) {
  std::promise<void> let_go;
  ApiServer server([gate = let_go.get_future().share()] {
    gate.wait();
    return GpuAndCpu();
  });
  const auto devices = server.devices();
  std::vector<std::future<grpc::Status>> waiting;
  for (int i = 0; i < 64; ++i) {
    waiting.push_back(std::async(std::launch::async, [&devices] {
      TestContext context;
      v1::ListDevicesResponse response;
      return devices->ListDevices(&context, {}, &response);
    }));
  }
  TestContext context;
  v1::ListModelsResponse models;
  EXPECT_THAT(server.models()->ListModels(&context, {}, &models), IsRpcOk());
  let_go.set_value();
  for (auto& call : waiting) EXPECT_THAT(call.get(), IsRpcOk());
}

TEST(DeviceServiceTest, EndsWaitingCallsWhenTheDaemonEnds) {
  std::promise<void> let_go;
  std::promise<void> reading;
  ApiServer server([&reading, gate = let_go.get_future().share()] {
    reading.set_value();
    gate.wait();
    return GpuAndCpu();
  });
  reading.get_future().wait();
  const auto devices = server.devices();
  std::promise<grpc::Status> answered;
  TestContext context;
  v1::ListDevicesRequest request;
  v1::ListDevicesResponse response;
  devices->async()->ListDevices(
      &context, &request, &response,
      [&answered](grpc::Status status) { answered.set_value(status); });
  server.Stop();
  EXPECT_EQ(answered.get_future().get().error_code(),
            grpc::StatusCode::UNAVAILABLE);
  let_go.set_value();
}

}  // namespace
}  // namespace memplan::testing
