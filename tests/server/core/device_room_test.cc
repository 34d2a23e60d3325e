#include "server/jobs/device_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memplan {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class DeviceRoomTest : public ::testing::Test {
 protected:
  DeviceRoomTest() {
    probe_.spec.device_id = "GPU-1";
    snapshot_.devices.resize(2);
    Gpu().id = "GPU-1";
    Gpu().total = GiB(80);
    Gpu().free = GiB(10);
    Gpu().processes = {{4711, "python", GiB(70)}};
    snapshot_.devices[1].id = "cpu";
    snapshot_.devices[1].is_cpu = true;
    snapshot_.devices[1].free = GiB(4);
  }
  Device& Gpu() { return snapshot_.devices[0]; }
  DeviceReading Reading() const {
    return std::make_shared<const DeviceSnapshot>(snapshot_);
  }
  std::optional<WaitingFor> Missing() const {
    return WhatIsMissing(probe_, Reading());
  }
  std::string WordsFor(WaitingReason reason) const {
    const auto missing = Missing();
    if (!missing) return "nothing is missing";
    EXPECT_EQ(missing->reason, reason);
    return missing->words;
  }

  Probe probe_;
  DeviceSnapshot snapshot_;
};

TEST_F(DeviceRoomTest, ABudgetNeedsItself) {
  probe_.spec.limit.budget = GiB(10);
  EXPECT_FALSE(Missing());
  probe_.spec.limit.budget = GiB(16);
  EXPECT_EQ(WordsFor(WaitingReason::kRoom),
            "GPU-1 has 10.0 GiB left; the budget needs 16.0 GiB; pid 4711 "
            "(python) holds 70.0 GiB");
}

TEST_F(DeviceRoomTest, ACapNeedsAContextBesides) {
  probe_.spec.limit.cap = GiB(10) - kExpectedContext;
  EXPECT_FALSE(Missing());
  probe_.trials.resize(1);
  probe_.trials[0].context = kExpectedContext + Bytes(1);
  EXPECT_THAT(WordsFor(WaitingReason::kRoom), HasSubstr("the cap"));
}

TEST_F(DeviceRoomTest, ASearchThatPredictsNeedsTwoContexts) {
  probe_.spec.task = SearchOptions{};
  probe_.spec.limit.cap = GiB(10) - kExpectedContext * 2;
  EXPECT_FALSE(Missing());
  probe_.spec.limit.cap = *probe_.spec.limit.cap + Bytes(1);
  EXPECT_TRUE(Missing());
  probe_.spec.method = SearchMethod::kBisect;
  EXPECT_FALSE(Missing());
}

TEST_F(DeviceRoomTest, WithoutALimitAContextIsEnoughToBegin) {
  EXPECT_FALSE(Missing());
  Gpu().free = MiB(100);
  EXPECT_THAT(WordsFor(WaitingReason::kRoom), HasSubstr("context alone"));
}

TEST_F(DeviceRoomTest, OnTheCpuTheHostsMemoryCounts) {
  probe_.spec.device_id = "cpu";
  probe_.spec.limit.cap = GiB(4);
  EXPECT_FALSE(Missing());
  probe_.spec.limit.cap = GiB(5);
  EXPECT_EQ(WordsFor(WaitingReason::kRoom),
            "cpu has 4.00 GiB left; the cap needs 5.00 GiB");
}

TEST_F(DeviceRoomTest, MayWaitToBeAlone) {
  probe_.spec.only_when_idle = true;
  EXPECT_THAT(WordsFor(WaitingReason::kIdle), HasSubstr("pid 4711"));
  Gpu().processes.clear();
  EXPECT_FALSE(Missing());
}

TEST_F(DeviceRoomTest, TellsOfADeviceThatIsLostOrNotRead) {
  Gpu().read_error = "GPU is lost";
  EXPECT_THAT(WordsFor(WaitingReason::kDeviceLost), HasSubstr("GPU is lost"));
  probe_.spec.device_id = "GPU-2";
  EXPECT_THAT(WordsFor(WaitingReason::kDeviceLost), HasSubstr("GPU-2"));
  const auto missing =
      WhatIsMissing(probe_, absl::DeadlineExceededError("the driver hangs"));
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->reason, WaitingReason::kDeviceNotRead);
}

TEST_F(DeviceRoomTest, TakesUnknownMemoryForRoom) {
  Gpu().free.reset();
  probe_.spec.limit.budget = GiB(70);
  EXPECT_FALSE(Missing());
  Gpu().used = GiB(70);
  Gpu().driver_reserve = GiB(1);
  EXPECT_THAT(WordsFor(WaitingReason::kRoom), HasSubstr("9.00 GiB left"));
}

TEST_F(DeviceRoomTest, ADevicesIdentityIsWhatTrialsDependOn) {
  const std::string before = DeviceIdentity("GPU-1", Reading());
  Gpu().free = GiB(1);
  EXPECT_EQ(DeviceIdentity("GPU-1", Reading()), before);
  Gpu().driver_version = "571";
  EXPECT_THAT(DeviceIdentity("GPU-1", Reading()), Not(before));
  EXPECT_EQ(DeviceIdentity("GPU-9", Reading()), "");
  EXPECT_EQ(DeviceIdentity("cpu", Reading()), "cpu");
}

}  // namespace
}  // namespace memplan
