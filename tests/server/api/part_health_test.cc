#include "server/program/part_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/temp_dir.h"

namespace memplan::testing {
namespace {

using ::testing::HasSubstr;

const DeviceAges kFresh = {{"GPU-1", absl::Seconds(2)},
                           {"cpu", absl::Seconds(2)}};

DeviceSnapshot OneGpu() {
  DeviceSnapshot snapshot;
  snapshot.devices.emplace_back().id = "GPU-1";
  snapshot.devices.emplace_back().id = "cpu";
  snapshot.devices.back().is_cpu = true;
  return snapshot;
}

TEST(DevicesHealthTest, IsHealthyWithAFreshReading) {
  const DeviceSnapshot snapshot = OneGpu();
  const PartStatus part = DevicesHealth(&snapshot, kFresh, 1);
  EXPECT_TRUE(part.healthy);
  EXPECT_EQ(part.detail, "1 GPU");
}

TEST(DevicesHealthTest, FailsBeforeTheFirstReadingAndWhenItIsOld) {
  EXPECT_FALSE(DevicesHealth(nullptr, {}, 0).healthy);
  const DeviceSnapshot snapshot = OneGpu();
  const PartStatus part = DevicesHealth(
      &snapshot, {{"GPU-1", absl::Seconds(11)}, {"cpu", absl::Seconds(2)}}, 0);
  EXPECT_FALSE(part.healthy);
  EXPECT_THAT(part.detail, HasSubstr("GPU-1: the last reading is 11 s old"));
}

TEST(DevicesHealthTest, FailsWhenADeviceCannotBeRead) {
  DeviceSnapshot snapshot = OneGpu();
  snapshot.devices[0].read_error = "GPU is lost";
  const PartStatus part = DevicesHealth(&snapshot, kFresh, 0);
  EXPECT_FALSE(part.healthy);
  EXPECT_EQ(part.detail, "GPU-1: GPU is lost");
}

TEST(DevicesHealthTest, NoGpuIsAFaultOnlyWhereOneIsExpected) {
  DeviceSnapshot snapshot = OneGpu();
  snapshot.devices.erase(snapshot.devices.begin());
  snapshot.gpu_absence_reason = "no NVIDIA driver";
  EXPECT_TRUE(DevicesHealth(&snapshot, kFresh, 0).healthy);
  const PartStatus part = DevicesHealth(&snapshot, kFresh, 1);
  EXPECT_FALSE(part.healthy);
  EXPECT_THAT(part.detail, HasSubstr("no NVIDIA driver"));
}

TEST(StoreHealthTest, IsHealthyAndSaysWhatIsLeft) {
  const TempDir dir;
  auto database = Database::Open(dir.Path("memplan.db"));
  ASSERT_TRUE(database.ok());
  const PartStatus part = StoreHealth(dir.Path(""), **database);
  EXPECT_TRUE(part.healthy);
  EXPECT_THAT(part.detail, HasSubstr("left on its disk"));
}

TEST(StoreHealthTest, FailsWhenItsFolderIsGone) {
  const TempDir dir;
  auto database = Database::Open(dir.Path("memplan.db"));
  ASSERT_TRUE(database.ok());
  const PartStatus part = StoreHealth(dir.Path("elsewhere"), **database);
  EXPECT_FALSE(part.healthy);
  EXPECT_THAT(part.detail, HasSubstr("No such file"));
}

TEST(WorkersHealthTest, SaysWhyNoneCanStart) {
  EXPECT_TRUE(WorkersHealth(absl::OkStatus()).healthy);
  const PartStatus part =
      WorkersHealth(absl::FailedPreconditionError("the worker is missing"));
  EXPECT_FALSE(part.healthy);
  EXPECT_EQ(part.detail, "the worker is missing");
}

}  // namespace
}  // namespace memplan::testing
