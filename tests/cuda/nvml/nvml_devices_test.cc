#include "cuda/nvml/nvml_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

namespace memplan::gpu {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Eq;
using testing::Field;
using testing::HasSubstr;
using testing::Optional;
using testing::SizeIs;

class NvmlDevicesTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = NvmlDevices::Open(MEMPLAN_FAKE_NVML);
    ASSERT_TRUE(opened.ok()) << opened.status();
    nvml_ = *std::move(opened);
  }
  void TearDown() override { unsetenv("FAKE_NVML_SITUATION"); }

  std::vector<Device> ReadIn(const char* situation) {
    setenv("FAKE_NVML_SITUATION", situation, 1);
    const auto count = nvml_->Count();
    EXPECT_TRUE(count.ok()) << count.status();
    std::vector<Device> devices;
    for (int32_t index = 0; index < count.value_or(0); ++index) {
      devices.push_back(nvml_->Read(index, known_));
    }
    return devices;
  }

  std::unique_ptr<NvmlDevices> nvml_;
  GpuIdentity known_;
};

TEST_F(NvmlDevicesTest, NamesEachGpuByItsUuid) {
  const std::vector<Device> devices = ReadIn("");
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_EQ(devices[0].id, "GPU-aaaa");
  EXPECT_FALSE(devices[0].is_cpu);
  EXPECT_EQ(devices[0].display_name, "NVIDIA H200");
  EXPECT_EQ(devices[0].pci_bus_id, "00000000:17:00.0");
  EXPECT_EQ(devices[0].driver_version, "580.95.05");
  EXPECT_THAT(devices[0].nvml_index, Optional(0));
  EXPECT_EQ(devices[1].id, "GPU-bbbb");
  EXPECT_EQ(devices[1].pci_bus_id, "00000000:9A:00.0");
  EXPECT_THAT(devices[1].nvml_index, Optional(1));
}

TEST_F(NvmlDevicesTest, TellsTheNumberOfTheDeviceFile) {
  const std::vector<Device> devices = ReadIn("");
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_THAT(devices[0].minor_number, Optional(1));
  EXPECT_THAT(devices[1].minor_number, Optional(0));
}

TEST_F(NvmlDevicesTest, MigInstancesHaveTheirOwnMemory) {
  const std::vector<Device> devices = ReadIn("mig");
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_FALSE(devices[0].is_partitioned);
  EXPECT_TRUE(devices[1].is_partitioned);
  EXPECT_THAT(nvml_->Instances(0), SizeIs(0));
  const std::vector<GpuIdentity> instances = nvml_->Instances(1);
  ASSERT_THAT(instances, SizeIs(1));
  EXPECT_EQ(instances[0].id, "MIG-cccc");
  const Device instance = nvml_->ReadInstance(1, instances[0]);
  EXPECT_EQ(instance.read_error, "");
  EXPECT_THAT(instance.total, Optional(MiB(400)));
  // After a repartition.
  EXPECT_THAT(nvml_->ReadInstance(0, instances[0]).read_error,
              HasSubstr("no such MIG instance"));
}

TEST_F(NvmlDevicesTest, MemoryAddsUpToTheTotal) {
  for (const Device& device : ReadIn("")) {
    EXPECT_THAT(device.total, Optional(MiB(1000)));
    EXPECT_THAT(device.driver_reserve, Optional(MiB(100)));
    EXPECT_EQ(*device.driver_reserve + *device.used + *device.free,
              *device.total);
    EXPECT_EQ(device.read_error, "");
  }
}

TEST_F(NvmlDevicesTest, CountsAProcessInBothListsOnce) {
  const std::vector<Device> devices = ReadIn("");
  EXPECT_THAT(
      devices[0].processes,
      ElementsAre(AllOf(Field(&DeviceProcess::pid, 4242),
                        Field(&DeviceProcess::used, Optional(MiB(200)))),
                  AllOf(Field(&DeviceProcess::pid, 77),
                        Field(&DeviceProcess::used, Optional(MiB(90))))));
  // 300 used less 200 and 90.
  EXPECT_THAT(devices[0].unattributed, Optional(MiB(10)));
  EXPECT_THAT(devices[1].processes, SizeIs(0));
  EXPECT_THAT(devices[1].unattributed, Optional(MiB(0)));
}

TEST_F(NvmlDevicesTest, LeavesWhatTheDriverDoesNotSayUnset) {
  const std::vector<Device> devices = ReadIn("no_process_memory");
  ASSERT_THAT(devices[0].processes, SizeIs(2));
  EXPECT_THAT(devices[0].processes[1],
              AllOf(Field(&DeviceProcess::pid, 4242),
                    Field(&DeviceProcess::used, Eq(std::nullopt))));
  EXPECT_EQ(devices[0].unattributed, std::nullopt);
  EXPECT_THAT(devices[0].used, Optional(MiB(300)));
}

TEST_F(NvmlDevicesTest, Case63AnAbsurdTotalIsNoFigure) {
  const std::vector<Device> devices = ReadIn("absurd_total");
  EXPECT_EQ(devices[0].id, "GPU-aaaa");
  EXPECT_EQ(devices[0].total, std::nullopt);
  EXPECT_EQ(devices[0].free, std::nullopt);
  EXPECT_THAT(devices[0].read_error, HasSubstr("says what cannot be: total "
                                               "17592186044416 bytes"));
}

TEST_F(NvmlDevicesTest, Case63AProcessHoldsNoMoreThanThereIs) {
  const std::vector<Device> devices = ReadIn("absurd_process");
  ASSERT_THAT(devices[0].processes, SizeIs(2));
  EXPECT_THAT(devices[0].processes,
              Contains(AllOf(Field(&DeviceProcess::pid, 4242),
                             Field(&DeviceProcess::used, Eq(std::nullopt)))));
  EXPECT_EQ(devices[0].unattributed, std::nullopt);
  EXPECT_THAT(devices[0].used, Optional(MiB(300)));
}

TEST_F(NvmlDevicesTest, ListsMoreProcessesThanAFirstGuessHasRoomFor) {
  const std::vector<Device> devices = ReadIn("many_processes");
  EXPECT_THAT(devices[0].processes, SizeIs(40));
}

TEST_F(NvmlDevicesTest, ALostGpuKeepsItsNameAndSaysWhatTheDriverSaid) {
  known_.id = "GPU-bbbb";
  const std::vector<Device> devices = ReadIn("second_gpu_lost");
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_EQ(devices[0].id, "GPU-aaaa");
  EXPECT_EQ(devices[0].read_error, "");
  EXPECT_EQ(devices[1].id, "GPU-bbbb");
  EXPECT_THAT(devices[1].read_error, HasSubstr("GPU is lost"));
  EXPECT_EQ(devices[1].total, std::nullopt);
  EXPECT_EQ(devices[1].free, std::nullopt);
}

TEST_F(NvmlDevicesTest, AGpuThatWasNeverReadIsCalledByItsIndex) {
  const std::vector<Device> devices = ReadIn("second_gpu_lost");
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_EQ(devices[1].id, "GPU-unreadable-1");
}

TEST_F(NvmlDevicesTest, IsUnavailableIfTheGpusCannotBeCounted) {
  setenv("FAKE_NVML_SITUATION", "count_fails", 1);
  const auto count = nvml_->Count();
  EXPECT_EQ(count.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(count.status().message(),
            "nvmlDeviceGetCount_v2: Unknown Error (NVML return 999)");
}

}  // namespace
}  // namespace memplan::gpu
