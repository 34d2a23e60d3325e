#include "server/devices/device_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "server/base/reason.h"
#include "tests/server/api/fake_device_source.h"

namespace memplan {
namespace {

using ::memplan::testing::HangingSource;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using ::testing::HasSubstr;
using SnapshotPtr = std::shared_ptr<const DeviceSnapshot>;

constexpr char kA[] = "GPU-aaaa";
constexpr char kB[] = "GPU-bbbb";
constexpr char kList[] = "list";

constexpr DeviceMonitor::Timing kOnce = {.interval = hours(1),
                                         .deadline = hours(1)};
// Readings that hang are late soon; there is a next one soon.
constexpr DeviceMonitor::Timing kSoon = {.interval = milliseconds(1),
                                         .deadline = milliseconds(1)};
constexpr DeviceMonitor::Timing kLateSoon = {.interval = hours(1),
                                             .deadline = milliseconds(1)};

// Two GPUs of one driver; `cpu` of another.
class DeviceMonitorTest : public ::testing::Test {
 protected:
  ~DeviceMonitorTest() override {
    driver_->LetAllGo();
    host_->LetAllGo();
  }
  void Start(DeviceMonitor::Timing timing) {
    monitor_ =
        std::make_unique<DeviceMonitor>(DeviceSources{driver_, host_}, timing);
  }
  // Hands what WhenRead gives to the test.
  std::future<absl::StatusOr<SnapshotPtr>> WhenRead(
      const std::string& id, milliseconds patience = hours(1)) {
    auto answer = std::make_shared<std::promise<absl::StatusOr<SnapshotPtr>>>();
    monitor_->WhenRead(id, patience, [answer](absl::StatusOr<SnapshotPtr> now) {
      answer->set_value(std::move(now));
    });
    return answer->get_future();
  }
  // All devices, once each has been read or is late.
  DeviceSnapshot All() {
    const absl::StatusOr<SnapshotPtr> snapshot = WhenRead("").get();
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
    return snapshot.ok() ? **snapshot : DeviceSnapshot();
  }
  // The device as it is shown once `is_so`.
  template <typename Condition>
  Device WaitUntil(const std::string& id, Condition is_so) {
    while (true) {
      const SnapshotPtr now = monitor_->Latest();
      const Device* device = now ? FindDevice(*now, id) : nullptr;
      if (device != nullptr && is_so(*device)) return *device;
      std::this_thread::yield();
    }
  }

  std::shared_ptr<HangingSource> driver_ = std::make_shared<HangingSource>(
      std::vector<std::string>{kA, kB}, std::set<std::string>{});
  std::shared_ptr<HangingSource> host_ = std::make_shared<HangingSource>(
      std::vector<std::string>{"cpu"}, std::set<std::string>{});
  std::unique_ptr<DeviceMonitor> monitor_;
};

bool IsLate(const Device& device) { return !device.read_error.empty(); }
bool IsRead(const Device& device) { return device.read_error.empty(); }

TEST_F(DeviceMonitorTest, ShowsTheDevicesInTheirOrderEachWithItsReading) {
  Start(kOnce);
  const DeviceSnapshot all = All();
  ASSERT_EQ(all.devices.size(), 3U);
  EXPECT_EQ(all.devices[0].id, kA);
  EXPECT_EQ(all.devices[1].id, kB);
  EXPECT_EQ(all.devices[2].id, "cpu");
  EXPECT_NE(all.devices[0].snapshot_id, all.devices[1].snapshot_id);
  for (const Device& device : all.devices) {
    EXPECT_GT(device.snapshot_id, 0);
    EXPECT_TRUE(device.sample_time.has_value());
  }
}

TEST_F(DeviceMonitorTest, OneThatHangsHoldsUpNoOther) {
  driver_->Hang(kA);
  Start(kOnce);
  // Asked for by name they are there before it, which is not even late yet.
  ASSERT_TRUE(WhenRead("cpu").get().ok());
  ASSERT_TRUE(WhenRead(kB).get().ok());
  EXPECT_EQ(monitor_->Latest(), nullptr) << "not all have been read";
  const DeviceReading other = monitor_->ReadNow(kB, minutes(1));
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ((*other)->free, GiB(79));
  EXPECT_TRUE(monitor_->ReadNow("cpu", minutes(1)).ok());
}

TEST_F(DeviceMonitorTest, OneThatHangsIsUnknownUntilItAnswers) {
  Start(kSoon);
  const Device before = WaitUntil(kA, IsRead);
  driver_->Hang(kA);
  const Device late = WaitUntil(kA, IsLate);
  EXPECT_THAT(late.read_error, HasSubstr("nvidia-smi"));
  EXPECT_EQ(late.total, GiB(80));
  EXPECT_EQ(late.used, std::nullopt);
  EXPECT_EQ(late.free, std::nullopt);
  EXPECT_GE(late.snapshot_id, before.snapshot_id);
  EXPECT_TRUE(late.sample_time.has_value());
  EXPECT_EQ(monitor_->ReadNow(kA, hours(1)).status().code(),
            absl::StatusCode::kDeadlineExceeded)
      << "without waiting for a driver that is known to hang";
  driver_->LetGo(kA);
  const Device after = WaitUntil(kA, IsRead);
  EXPECT_EQ(after.free, GiB(79));
  EXPECT_GT(after.snapshot_id, late.snapshot_id);
}

TEST_F(DeviceMonitorTest, OneThatNeverAnsweredIsNamedAfterItsDeadline) {
  driver_->Hang(kB);
  Start(kLateSoon);
  const Device late = WaitUntil(kB, IsLate);
  EXPECT_EQ(late.display_name, "unread");
  EXPECT_EQ(late.snapshot_id, 0);
  EXPECT_FALSE(late.sample_time.has_value());
  WaitUntil("cpu", IsRead);
  EXPECT_TRUE(All().gpus_known);
}

TEST_F(DeviceMonitorTest, ADriverThatCannotEvenListHoldsUpNoOther) {
  driver_->Hang(kList);
  Start(kLateSoon);
  WaitUntil("cpu", IsRead);
  const DeviceSnapshot all = All();
  ASSERT_EQ(all.devices.size(), 2U);
  EXPECT_FALSE(all.gpus_known);
  EXPECT_EQ(all.devices[0].id, kUnreadableGpu);
  EXPECT_THAT(all.devices[0].read_error, HasSubstr("nvidia-smi"));
  EXPECT_EQ(all.devices[1].id, "cpu");
  EXPECT_EQ(monitor_->ReadNow(kA, hours(1)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  driver_->LetGo(kList);
  EXPECT_EQ(WaitUntil(kA, IsRead).id, kA);
}

TEST_F(DeviceMonitorTest, ADeviceWhoseNameNobodyKnowsYetMayBeAnyOne) {
  driver_->HideNames();
  driver_->Hang(kA);
  Start(kLateSoon);
  EXPECT_FALSE(All().gpus_known);
  EXPECT_EQ(monitor_->ReadNow(kA, hours(1)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_F(DeviceMonitorTest, ADeviceThatIsGoneIsNotFound) {
  Start({.interval = milliseconds(1), .deadline = hours(1)});
  ASSERT_TRUE(monitor_->ReadNow(kB, hours(1)).ok());
  driver_->SetIds({kA});
  while (FindDevice(All(), kB) != nullptr) std::this_thread::yield();
  const absl::Status gone = monitor_->ReadNow(kB, hours(1)).status();
  EXPECT_EQ(gone.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(gone.message()), HasSubstr(kB));
}

TEST_F(DeviceMonitorTest, ADeviceThatHangsNeverGetsASecondThread) {
  driver_->Hang(kA);
  Start(kSoon);
  WaitUntil(kA, IsLate);
  driver_->SetIds({kB});
  while (FindDevice(All(), kA) != nullptr) std::this_thread::yield();
  driver_->SetIds({kA, kB});
  WaitUntil(kA, IsLate);
  EXPECT_EQ(driver_->Hanging(kA), 1);
  driver_->LetGo(kA);
  WaitUntil(kA, IsRead);
}

TEST_F(DeviceMonitorTest, AnswersAtOnceOnceAllHaveBeenRead) {
  Start(kOnce);
  All();
  std::optional<SnapshotPtr> answered;
  monitor_->WhenRead("", milliseconds(0), [&](absl::StatusOr<SnapshotPtr> now) {
    if (now.ok()) answered = *now;
  });
  ASSERT_TRUE(answered.has_value());
  EXPECT_EQ(monitor_->Latest(), *answered);
}

TEST_F(DeviceMonitorTest, EndsAWaitWhosePatienceIsOver) {
  driver_->Hang(kA);
  Start(kOnce);
  auto patient = WhenRead("");
  const auto refused = WhenRead("", milliseconds(1)).get();
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ReasonOf(refused.status()), "DEVICES_NOT_READ");
  driver_->LetGo(kA);
  EXPECT_TRUE(patient.get().ok());
}

TEST_F(DeviceMonitorTest, ReadNowGivesAReadingThatBeganAfterTheCall) {
  Start(kOnce);
  const DeviceReading first = monitor_->ReadNow(kA, minutes(1));
  const DeviceReading second = monitor_->ReadNow(kA, minutes(1));
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_GT((*second)->snapshot_id, (*first)->snapshot_id);
}

TEST_F(DeviceMonitorTest, ReadNowGivesUpWhenItsPatienceIsOver) {
  driver_->Hang(kA);
  Start(kOnce);
  driver_->WaitForCalls(kA, 1);
  EXPECT_EQ(monitor_->ReadNow(kA, milliseconds(1)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_F(DeviceMonitorTest, ReadsAgainAfterTheInterval) {
  Start({.interval = milliseconds(1), .deadline = hours(1)});
  driver_->WaitForCalls(kA, 3);
  driver_->WaitForCalls(kList, 3);
}

TEST_F(DeviceMonitorTest, LeavesHangingReadingsBehindWhenStopped) {
  driver_->Hang(kA);
  Start(kLateSoon);
  WaitUntil(kA, IsLate);
  WaitUntil(kB, IsRead);
  driver_->Hang(kB);
  auto waiting = std::async(std::launch::async, [this] {
    return monitor_->ReadNow(kB, hours(1)).status();
  });
  driver_->WaitForCalls(kB, 2);
  // One is late and not waited for, or the patience would be used up.
  WaitUntil(kB, IsLate);
  monitor_->Stop(hours(1));
  EXPECT_FALSE(waiting.get().ok());
  EXPECT_EQ(driver_->Hanging(kA), 1);
}

TEST_F(DeviceMonitorTest, WaitsForAReadingThatIsNotLateNoLongerThanToldTo) {
  driver_->Hang(kA);
  Start(kOnce);
  driver_->WaitForCalls(kA, 1);
  auto waiting = WhenRead("");
  monitor_->Stop(milliseconds(1));
  EXPECT_EQ(waiting.get().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(WhenRead(kA).get().status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(DeviceMonitorTest, KeepsWhatItHasReadWhenStopped) {
  Start(kOnce);
  All();
  monitor_->Stop(minutes(1));
  ASSERT_NE(monitor_->Latest(), nullptr);
  EXPECT_EQ(monitor_->Latest()->devices.size(), 3U);
  EXPECT_EQ(monitor_->ReadNow(kA, hours(1)).status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace memplan
