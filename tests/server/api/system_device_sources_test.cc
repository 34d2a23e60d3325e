#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <future>
#include <vector>

#include "server/base/descriptor.h"
#include "server/devices/device_source.h"
#include "tests/support/temp_dir.h"

namespace memplan {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class SystemDeviceSourcesTest : public ::testing::Test {
 protected:
  ~SystemDeviceSourcesTest() override { unsetenv("FAKE_NVML_SITUATION"); }

  DeviceSource& Gpus() { return *sources_[0]; }
  DeviceSource& Host() { return *sources_[1]; }

  const DeviceSources sources_ = SystemDeviceSources(MEMPLAN_FAKE_NVML);
};

TEST_F(SystemDeviceSourcesTest, TheHostIsTheCpuDevice) {
  const DeviceListing listing = Host().List();
  ASSERT_THAT(listing.places, SizeIs(1));
  const Device cpu = Host().Read(listing.places[0]);
  EXPECT_EQ(cpu.id, "cpu");
  EXPECT_TRUE(cpu.is_cpu);
  EXPECT_EQ(*cpu.used + *cpu.free, *cpu.total);
  EXPECT_GT(*cpu.free, Bytes(0));
}

TEST_F(SystemDeviceSourcesTest, SaysWhyThereIsNoGpu) {
  const DeviceSources sources =
      SystemDeviceSources("libnothing-of-this-name.so.1");
  const DeviceListing listing = sources[0]->List();
  EXPECT_THAT(listing.places, SizeIs(0));
  EXPECT_THAT(listing.gpu_absence_reason, HasSubstr("no NVIDIA driver"));
}

TEST_F(SystemDeviceSourcesTest, NamesGpusOnceTheyHaveBeenRead) {
  const DeviceListing first = Gpus().List();
  ASSERT_THAT(first.places, SizeIs(2));
  EXPECT_EQ(first.gpu_absence_reason, "");
  EXPECT_FALSE(first.places[1].named);
  EXPECT_EQ(first.places[1].unread.id, "GPU-unreadable-1");
  EXPECT_EQ(Gpus().Read(first.places[1]).id, "GPU-bbbb");
  const DeviceListing second = Gpus().List();
  EXPECT_TRUE(second.places[1].named);
  EXPECT_EQ(second.places[1].unread.id, "GPU-bbbb");
  EXPECT_EQ(second.places[1].key, first.places[1].key);
  EXPECT_FALSE(second.places[0].named);
}

TEST_F(SystemDeviceSourcesTest, ALostGpuKeepsItsName) {
  const DeviceListing listing = Gpus().List();
  ASSERT_THAT(listing.places, SizeIs(2));
  Gpus().Read(listing.places[1]);
  setenv("FAKE_NVML_SITUATION", "second_gpu_lost", 1);
  const Device lost = Gpus().Read(listing.places[1]);
  EXPECT_EQ(lost.id, "GPU-bbbb");
  EXPECT_NE(lost.read_error, "");
}

// The gate is a named pipe: opening it waits for the driver to come to it, and
// closing it lets the driver go.
TEST_F(SystemDeviceSourcesTest, AGpuThatHangsHoldsUpNoOther) {
  const testing::TempDir dir;
  const std::string gate = dir.Path("gate");
  ASSERT_EQ(mkfifo(gate.c_str(), 0600), 0);
  setenv("FAKE_NVML_SITUATION", "second_gpu_hangs", 1);
  setenv("FAKE_NVML_GATE", gate.c_str(), 1);
  const DeviceListing listing = Gpus().List();
  ASSERT_THAT(listing.places, SizeIs(2));
  auto hanging = std::async(std::launch::async,
                            [&] { return Gpus().Read(listing.places[1]); });
  {
    const Descriptor open_gate(open(gate.c_str(), O_WRONLY));
    EXPECT_EQ(Gpus().Read(listing.places[0]).id, "GPU-aaaa");
    EXPECT_THAT(Gpus().List().places, SizeIs(2));
  }
  EXPECT_EQ(hanging.get().id, "GPU-bbbb");
}

}  // namespace
}  // namespace memplan
