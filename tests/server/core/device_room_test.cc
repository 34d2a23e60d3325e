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
    device_.id = "GPU-1";
    device_.total = GiB(80);
    device_.free = GiB(10);
    device_.processes = {{4711, "python", GiB(70)}};
  }
  // With 4 GiB left.
  void UseCpu() {
    probe_.spec.device_id = "cpu";
    device_ = Device();
    device_.id = "cpu";
    device_.is_cpu = true;
    device_.free = GiB(4);
  }
  DeviceReading Reading() const {
    return std::make_shared<const Device>(device_);
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
  Device device_;
};

TEST_F(DeviceRoomTest, WhatOwnWorkersHoldIsRoomBesideOthers) {
  device_.processes = {{4711, "python", GiB(50)},
                       {815, "memplan-worker", GiB(20)}};
  const auto owner_of = [](int64_t pid) {
    return pid == 815 ? ProcessOwner::kOurs : ProcessOwner::kOthers;
  };
  EXPECT_EQ(RoomBesideOthers(Reading(), OwnWorkers::kSome, owner_of), GiB(30));
  EXPECT_EQ(RoomBesideOthers(Reading(), OwnWorkers::kNone, {}), GiB(10));
  device_.read_error = "the GPU is lost";
  EXPECT_EQ(RoomBesideOthers(Reading(), OwnWorkers::kSome, owner_of),
            std::nullopt);
}

// In a container the driver's pids are nobody's.
TEST_F(DeviceRoomTest, RoomIsUnknownWhereOwnWorkersAreNotToBeTold) {
  const auto nobody = [](int64_t) { return ProcessOwner::kUnknown; };
  EXPECT_EQ(RoomBesideOthers(Reading(), OwnWorkers::kSome, nobody),
            std::nullopt);
  EXPECT_EQ(RoomBesideOthers(Reading(), OwnWorkers::kNone, nobody), GiB(10));
}

TEST_F(DeviceRoomTest, ABudgetNeedsItself) {
  probe_.spec.limit.budget = GiB(10);
  EXPECT_FALSE(Missing());
  probe_.spec.limit.budget = GiB(16);
  EXPECT_EQ(WordsFor(WaitingReason::kRoom),
            "GPU-1 has 10.0 GiB left; the budget needs 16.0 GiB; pid 4711 "
            "(python) holds 70.0 GiB");
}

// Two caps of 4 GiB and two contexts of 768 MiB: 9.5 of the 10 GiB.
TEST_F(DeviceRoomTest, HasRoomForTwoWorkersOfACapAtOneTime) {
  EXPECT_EQ(WorkersWithRoom(probe_, device_), 1);
  probe_.spec.task = SearchOptions{};
  EXPECT_EQ(WorkersWithRoom(probe_, device_), 1);
  probe_.spec.limit.cap = GiB(4);
  EXPECT_EQ(WorkersWithRoom(probe_, device_), 2);
  EXPECT_EQ(BytesForWorkers(probe_, 2), GiB(8) + MiB(1536));
  device_.free = GiB(8) + MiB(1535);
  EXPECT_EQ(WorkersWithRoom(probe_, device_), 1);
  device_.free = GiB(10);
  probe_.spec.limit.budget = GiB(9);
  EXPECT_EQ(WorkersWithRoom(probe_, device_), 1);
  UseCpu();
  EXPECT_EQ(WorkersWithRoom(probe_, device_), 1);
}

// Each may take 4 GiB and 768 MiB: four of them half of 38 GiB.
TEST_F(DeviceRoomTest, HasRoomForHelpersWhereAsMuchIsLeftToOthers) {
  probe_.spec.task = SearchOptions{};
  probe_.spec.limit.cap = GiB(4);
  device_.free = GiB(38);
  EXPECT_EQ(WorkersWithRoom(probe_, device_), 4);
  device_.free = GiB(38) - Bytes(1);
  EXPECT_EQ(WorkersWithRoom(probe_, device_), 3);
  device_.free = GiB(28);
  EXPECT_EQ(WorkersWithRoom(probe_, device_), 2);
  probe_.spec.method = SearchMethod::kBisect;
  EXPECT_EQ(WorkersWithRoom(probe_, device_), 1);
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
  device_.free = MiB(100);
  EXPECT_THAT(WordsFor(WaitingReason::kRoom), HasSubstr("context alone"));
}

// The cap is all there is, so that no context is free beside it; or the card is
// smaller than the context.
TEST_F(DeviceRoomTest, WhatADeviceCanNeverHaveIsNotWaitedFor) {
  device_.driver_reserve = MiB(500);
  device_.unattributed = MiB(20);
  probe_.spec.limit.cap = GiB(80);
  EXPECT_EQ(
      WordsFor(WaitingReason::kRoom),
      "GPU-1 has 10.0 GiB left; the cap and a context need 80.8 GiB, more "
      "than it has in all, so that it starts when all others have gone; "
      "pid 4711 (python) holds 70.0 GiB");
  device_.processes.clear();
  device_.free = GiB(80) - MiB(520);
  EXPECT_FALSE(Missing());
  device_.free = *device_.free - Bytes(1);
  EXPECT_TRUE(Missing());
  probe_.spec.limit.cap.reset();
  device_.total = MiB(600);
  device_.free = MiB(80);
  EXPECT_FALSE(Missing());
}

TEST_F(DeviceRoomTest, OnTheCpuTheHostsMemoryCounts) {
  UseCpu();
  probe_.spec.limit.cap = GiB(4);
  EXPECT_FALSE(Missing());
  probe_.spec.limit.cap = GiB(5);
  EXPECT_EQ(WordsFor(WaitingReason::kRoom),
            "cpu has 4.00 GiB left; the cap needs 5.00 GiB");
}

TEST_F(DeviceRoomTest, MayWaitToBeAlone) {
  probe_.spec.only_when_idle = true;
  EXPECT_THAT(WordsFor(WaitingReason::kIdle), HasSubstr("pid 4711"));
  device_.processes.clear();
  EXPECT_FALSE(Missing());
}

TEST_F(DeviceRoomTest, TellsOfADeviceThatIsLostOrNotRead) {
  device_.read_error = "GPU is lost";
  EXPECT_THAT(WordsFor(WaitingReason::kDeviceLost), HasSubstr("GPU is lost"));
  auto missing = WhatIsMissing(probe_, absl::NotFoundError("GPU-1 is gone"));
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->reason, WaitingReason::kDeviceLost);
  EXPECT_EQ(missing->words, "GPU-1 is gone");
  missing =
      WhatIsMissing(probe_, absl::DeadlineExceededError("the driver hangs"));
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->reason, WaitingReason::kDeviceNotRead);
}

TEST_F(DeviceRoomTest, TakesUnknownMemoryForRoom) {
  device_.free.reset();
  probe_.spec.limit.budget = GiB(70);
  EXPECT_FALSE(Missing());
  device_.used = GiB(70);
  device_.driver_reserve = GiB(1);
  EXPECT_THAT(WordsFor(WaitingReason::kRoom), HasSubstr("9.00 GiB left"));
}

TEST_F(DeviceRoomTest, ADevicesIdentityIsWhatTrialsDependOn) {
  const std::string before = DeviceIdentity(Reading());
  device_.free = GiB(1);
  EXPECT_EQ(DeviceIdentity(Reading()), before);
  device_.driver_version = "571";
  EXPECT_THAT(DeviceIdentity(Reading()), Not(before));
  EXPECT_EQ(DeviceIdentity(absl::NotFoundError("gone")), "");
  UseCpu();
  EXPECT_EQ(DeviceIdentity(Reading()), "cpu");
}

}  // namespace
}  // namespace memplan
