#include "server/devices/context_reading.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace memplan {
namespace {

Device Gpu(std::optional<Bytes> used, std::vector<DeviceProcess> processes) {
  Device device;
  device.id = "GPU-aaaa";
  device.used = used;
  device.processes = std::move(processes);
  return device;
}

DeviceProcess Process(int64_t pid, std::optional<Bytes> used) {
  return {.pid = pid, .name = "", .used = used};
}

// Worker 50 has reserved 300 MiB.
std::optional<ContextReading> Read(const Device& before, const Device& now) {
  return ReadContext(before, now, {.pid = 50, .reserved = MiB(300)});
}

TEST(ReadContextTest, IsWhatTheProcessHoldsBeyondItsAllocator) {
  const auto reading =
      Read(Gpu(MiB(100), {Process(7, MiB(100))}),
           Gpu(MiB(910), {Process(50, MiB(800)), Process(7, MiB(100))}));
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->context, MiB(500));
  EXPECT_EQ(reading->source, "nvml_process");
}

TEST(ReadContextTest, TakesTheOnlyNewcomerUnderAnotherNumber) {
  const auto reading =
      Read(Gpu(MiB(100), {Process(7, MiB(100))}),
           Gpu(MiB(910), {Process(90210, MiB(800)), Process(7, MiB(100))}));
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->context, MiB(500));
  EXPECT_EQ(reading->source, "nvml_process");
}

TEST(ReadContextTest, DoesNotTakeAnOlderProcessWithTheSameNumber) {
  const auto reading =
      Read(Gpu(MiB(900), {Process(50, MiB(900))}),
           Gpu(MiB(1700), {Process(90210, MiB(800)), Process(50, MiB(900))}));
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->context, MiB(500));
}

TEST(ReadContextTest, TakesTheDevicesGrowthIfTwoProcessesAppeared) {
  const auto reading =
      Read(Gpu(MiB(100), {}),
           Gpu(MiB(1000), {Process(1, MiB(800)), Process(2, MiB(100))}));
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->context, MiB(600));  // 1000 − 100 − 300
  EXPECT_EQ(reading->source, "device_difference");
}

TEST(ReadContextTest, TakesTheDevicesGrowthIfTheProcesssShareIsNotKnown) {
  const auto reading =
      Read(Gpu(MiB(0), {}), Gpu(MiB(750), {Process(50, std::nullopt)}));
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->context, MiB(450));
  EXPECT_EQ(reading->source, "device_difference");
}

TEST(ReadContextTest, IsUnsetIfTheFiguresContradictEachOther) {
  EXPECT_FALSE(Read(Gpu(MiB(0), {}), Gpu(MiB(200), {Process(50, MiB(200))})));
  EXPECT_FALSE(Read(Gpu(MiB(500), {}), Gpu(MiB(400), {})));
}

TEST(ReadContextTest, IsUnsetWithoutTheDevicesFigures) {
  EXPECT_FALSE(Read(Gpu(std::nullopt, {}), Gpu(MiB(900), {})));
}

}  // namespace
}  // namespace memplan
