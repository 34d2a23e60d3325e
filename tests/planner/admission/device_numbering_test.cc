#include "planner/admission/device_numbering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace memplan {
namespace {

// Row 24 (gpustack#1633): two cards that CUDA counts the other way round.
std::vector<Device> TwoCards() {
  std::vector<Device> devices(3);
  devices[0].id = "GPU-a";
  devices[0].nvml_index = 0;
  devices[0].cuda_index = 1;
  devices[0].minor_number = 0;
  devices[0].pci_bus_id = "00000000:17:00.0";
  devices[1].id = "GPU-b";
  devices[1].nvml_index = 1;
  devices[1].cuda_index = 0;
  devices[1].minor_number = 4;
  devices[1].pci_bus_id = "00000001:17:00.0";
  devices[2].id = "MIG-a1";
  devices[2].parent_id = "GPU-a";
  devices[2].nvml_index = 0;
  devices[2].pci_bus_id = "00000000:17:00.0";
  return devices;
}

std::string IdOf(const std::string& name) {
  const auto devices = TwoCards();
  const auto found = ResolveDevice(devices, name);
  return found.ok() ? (*found)->id : found.status().ToString();
}

TEST(DeviceNumberingTest, FindsDevicesByEachNumberingAndById) {
  EXPECT_EQ(IdOf("GPU-b"), "GPU-b");
  EXPECT_EQ(IdOf("MIG-a1"), "MIG-a1");
  EXPECT_EQ(IdOf("nvml:0"), "GPU-a");
  EXPECT_EQ(IdOf("cuda:0"), "GPU-b");
  EXPECT_EQ(IdOf("minor:4"), "GPU-b");
  EXPECT_EQ(IdOf("pci:0000:17:00.0"), "GPU-a");
  EXPECT_EQ(IdOf("pci:17:00.0"), "GPU-a");
  EXPECT_EQ(IdOf("pci:0001:17:00.0"), "GPU-b");
}

TEST(DeviceNumberingTest, ANumberWithoutItsNumberingIsRefused) {
  for (const char* name : {"0", "1", "", "gpu:0", "cuda:", "cuda:x"}) {
    EXPECT_THAT(IdOf(name), ::testing::StartsWith("INVALID_ARGUMENT")) << name;
  }
  EXPECT_THAT(IdOf("0"), ::testing::HasSubstr("nvml:0, cuda:0"));
}

TEST(DeviceNumberingTest, SaysWhatThereIsWhereNothingHasTheName) {
  EXPECT_THAT(IdOf("cuda:7"),
              ::testing::HasSubstr("there are: GPU-a, GPU-b, MIG-a1"));
}

}  // namespace
}  // namespace memplan
