#include "server/devices/device_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <semaphore>

#include "server/base/reason.h"

namespace memplan {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using SnapshotPtr = std::shared_ptr<const DeviceSnapshot>;

DeviceSnapshot OneGpu() {
  DeviceSnapshot snapshot;
  snapshot.devices.resize(1);
  snapshot.devices[0].id = "GPU-aaaa";
  return snapshot;
}

// A driver that hangs until it is let go, or until the test ends.
class HangingDriver {
 public:
  HangingDriver() : gate_(opened_.get_future().share()) {}
  ~HangingDriver() { LetGo(); }

  void LetGo() {
    if (!open_) opened_.set_value();
    open_ = true;
  }
  // Waits until a reading is in the driver.
  void WaitForAReading() { readings_->acquire(); }
  DeviceReader Reader() {
    return [readings = readings_, gate = gate_] {
      readings->release();
      gate.wait();
      return OneGpu();
    };
  }

 private:
  // Shared with a reading that is left behind.
  std::shared_ptr<std::counting_semaphore<>> readings_ =
      std::make_shared<std::counting_semaphore<>>(0);
  std::promise<void> opened_;
  std::shared_future<void> gate_;
  bool open_ = false;
};

// Hands a callback's answer to the test.
class Answer {
 public:
  DeviceMonitor::SnapshotCallback Callback() {
    return [this](absl::StatusOr<SnapshotPtr> snapshot) {
      promise_.set_value(std::move(snapshot));
    };
  }
  absl::StatusOr<SnapshotPtr> Get() { return promise_.get_future().get(); }

 private:
  std::promise<absl::StatusOr<SnapshotPtr>> promise_;
};

TEST(FindDeviceTest, FindsByIdOrGivesNull) {
  const DeviceSnapshot snapshot = OneGpu();
  EXPECT_EQ(FindDevice(snapshot, "GPU-aaaa"), snapshot.devices.data());
  EXPECT_EQ(FindDevice(snapshot, "GPU-"), nullptr);
}

TEST(DeviceMonitorTest, HasNothingBeforeTheFirstReading) {
  HangingDriver driver;
  DeviceMonitor monitor(driver.Reader(), hours(1));
  EXPECT_EQ(monitor.Latest(), nullptr);
  driver.LetGo();
}

TEST(DeviceMonitorTest, AnswersWaitersAsSoonAsTheFirstReadingIsIn) {
  HangingDriver driver;
  DeviceMonitor monitor(driver.Reader(), hours(1));
  Answer answer;
  monitor.WhenRead(hours(1), answer.Callback());
  driver.LetGo();
  const auto snapshot = answer.Get();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ((*snapshot)->id, 1);
  EXPECT_EQ((*snapshot)->devices[0].id, "GPU-aaaa");
  EXPECT_EQ(monitor.Latest(), *snapshot);
}

TEST(DeviceMonitorTest, AnswersAtOnceOnceThereIsAReading) {
  DeviceMonitor monitor(OneGpu, hours(1));
  ASSERT_TRUE(monitor.ReadNow(seconds(30)).ok());
  std::optional<SnapshotPtr> answered;
  monitor.WhenRead(milliseconds(0), [&](absl::StatusOr<SnapshotPtr> snapshot) {
    if (snapshot.ok()) answered = *snapshot;
  });
  EXPECT_TRUE(answered.has_value());
}

TEST(DeviceMonitorTest, EndsAWaitWhosePatienceIsOverWhileTheDriverHangs) {
  HangingDriver driver;
  DeviceMonitor monitor(driver.Reader(), hours(1));
  Answer patient;
  Answer impatient;
  monitor.WhenRead(hours(1), patient.Callback());
  monitor.WhenRead(milliseconds(1), impatient.Callback());
  const auto refused = impatient.Get();
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ReasonOf(refused.status()), "DEVICES_NOT_READ");
  driver.LetGo();
  EXPECT_TRUE(patient.Get().ok());
}

TEST(DeviceMonitorTest, ReadNowGivesAReadingThatBeganAfterTheCall) {
  DeviceMonitor monitor(OneGpu, hours(1));
  const auto first = monitor.ReadNow(seconds(30));
  const auto second = monitor.ReadNow(seconds(30));
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_GT((*second)->id, (*first)->id);
  EXPECT_GE((*second)->time, (*first)->time);
}

TEST(DeviceMonitorTest, ReadNowGivesUpWhenTheDriverHangs) {
  HangingDriver driver;
  DeviceMonitor monitor(driver.Reader(), hours(1));
  EXPECT_EQ(monitor.ReadNow(milliseconds(1)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  driver.LetGo();
}

TEST(DeviceMonitorTest, ReadsAgainAfterTheInterval) {
  std::promise<void> third;
  int readings = 0;
  DeviceMonitor monitor(
      [&] {
        if (++readings == 3) third.set_value();
        return OneGpu();
      },
      milliseconds(1));
  EXPECT_EQ(third.get_future().wait_for(seconds(30)),
            std::future_status::ready);
}

TEST(DeviceMonitorTest, LeavesAHangingReadingBehindWhenDestroyed) {
  HangingDriver driver;
  Answer answer;
  {
    DeviceMonitor monitor(driver.Reader(), hours(1));
    driver.WaitForAReading();
    monitor.WhenRead(hours(1), answer.Callback());
  }
  EXPECT_EQ(answer.Get().status().code(), absl::StatusCode::kUnavailable);
}

TEST(DeviceMonitorTest, EndsWaitsAtOnceWhenStopped) {
  DeviceMonitor monitor(OneGpu, hours(1));
  ASSERT_TRUE(monitor.ReadNow(seconds(30)).ok());
  monitor.Stop();
  EXPECT_NE(monitor.Latest(), nullptr);
  EXPECT_EQ(monitor.ReadNow(hours(1)).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST(DeviceMonitorTest, AnswersWhoAsksAfterItWasStoppedWithoutAReading) {
  HangingDriver driver;
  DeviceMonitor monitor(driver.Reader(), hours(1));
  monitor.Stop();
  Answer answer;
  monitor.WhenRead(hours(1), answer.Callback());
  EXPECT_EQ(answer.Get().status().code(), absl::StatusCode::kUnavailable);
}

TEST(SystemDeviceReaderTest, ListsTheCpuAndSaysWhyThereIsNoGpu) {
  const DeviceSnapshot snapshot =
      SystemDeviceReader("libnothing-of-this-name.so.1")();
  ASSERT_EQ(snapshot.devices.size(), 1U);
  const Device& cpu = snapshot.devices[0];
  EXPECT_EQ(cpu.id, "cpu");
  EXPECT_TRUE(cpu.is_cpu);
  EXPECT_EQ(*cpu.used + *cpu.free, *cpu.total);
  EXPECT_GT(*cpu.free, Bytes(0));
  EXPECT_THAT(snapshot.gpu_absence_reason,
              testing::HasSubstr("no NVIDIA driver"));
}

TEST(SystemDeviceReaderTest, ALostGpuKeepsItsName) {
  const DeviceReader read = SystemDeviceReader(MEMPLAN_FAKE_NVML);
  ASSERT_EQ(read().devices.size(), 3U);
  setenv("FAKE_NVML_SITUATION", "second_gpu_lost", 1);
  const DeviceSnapshot snapshot = read();
  unsetenv("FAKE_NVML_SITUATION");
  ASSERT_EQ(snapshot.devices.size(), 3U);
  EXPECT_EQ(snapshot.devices[1].id, "GPU-bbbb");
  EXPECT_NE(snapshot.devices[1].read_error, "");
}

TEST(SystemDeviceReaderTest, ListsGpusBeforeTheCpu) {
  const DeviceSnapshot snapshot = SystemDeviceReader(MEMPLAN_FAKE_NVML)();
  ASSERT_EQ(snapshot.devices.size(), 3U);
  EXPECT_EQ(snapshot.devices[0].id, "GPU-aaaa");
  EXPECT_EQ(snapshot.devices[2].id, "cpu");
  EXPECT_EQ(snapshot.gpu_absence_reason, "");
}

}  // namespace
}  // namespace memplan
