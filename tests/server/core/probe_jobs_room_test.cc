// Probes that wait for their device's memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <string>

#include "server/jobs/device_room.h"
#include "tests/server/core/probe_jobs_fixture.h"

namespace memplan {
namespace {

using ::memplan::testing::FakeTrialRunner;
using ::memplan::testing::IsOk;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class RoomTest : public ::memplan::testing::ProbeJobsFixture {
 protected:
  RoomTest() {
    SetFree("GPU-1", GiB(4));
    SetFree("GPU-2", GiB(4));
  }
  // The queue reads the devices below until it is gone.
  ~RoomTest() override { jobs_.reset(); }

  void SetFree(const std::string& id, Bytes free) {
    const std::lock_guard lock(mutex_);
    devices_[id].id = id;
    devices_[id].free = free;
  }
  void SetError(const std::string& id, const absl::Status& error) {
    const std::lock_guard lock(mutex_);
    errors_[id] = error;
  }
  ProbeJobs::Options WithRoom() {
    ProbeJobs::Options options;
    options.look_again = milliseconds(1);
    options.read_device = [this](const std::string& id) -> DeviceReading {
      const std::lock_guard lock(mutex_);
      if (!errors_[id].ok()) return errors_[id];
      return std::make_shared<const Device>(devices_[id]);
    };
    return options;
  }
  static ProbeSpec WithBudget(Bytes budget, std::string device = "GPU-1") {
    ProbeSpec spec = Profile({1}, std::move(device));
    spec.limit.budget = budget;
    return spec;
  }
  ProbePtr WaitUntilItWaits(const std::string& id) {
    return WaitUntil(
        id, [](const Probe& probe) { return probe.waiting_for.has_value(); });
  }

  std::mutex mutex_;
  std::map<std::string, Device> devices_;
  std::map<std::string, absl::Status> errors_;
};

TEST_F(RoomTest, AProbeWaitsUntilItsDeviceHasRoom) {
  Start(5, WithRoom());
  const std::string id = CreateId(WithBudget(GiB(5)));
  const ProbePtr waiting = WaitUntilItWaits(id);
  EXPECT_EQ(waiting->state, ProbeState::kQueued);
  EXPECT_THAT(waiting->waiting_for->words, HasSubstr("4.00 GiB left"));
  EXPECT_THAT(jobs_->Counts().waiting,
              UnorderedElementsAre(Pair(WaitingReason::kRoom, 1)));
  SetFree("GPU-1", GiB(5));
  const ProbePtr ended = WaitForEnd(id);
  EXPECT_EQ(ended->state, ProbeState::kSucceeded);
  EXPECT_FALSE(ended->waiting_for);
}

TEST_F(RoomTest, OneBehindItThatHasRoomPasses) {
  Start(5, WithRoom());
  const std::string large = CreateId(WithBudget(GiB(5)));
  WaitUntilItWaits(large);
  EXPECT_EQ(WaitForEnd(CreateId(WithBudget(GiB(1))))->state,
            ProbeState::kSucceeded);
  EXPECT_EQ(jobs_->Get(large)->state, ProbeState::kQueued);
  EXPECT_THAT(Cancel(large), IsOk());
  EXPECT_FALSE(jobs_->Get(large)->waiting_for);
}

TEST_F(RoomTest, AProbeDoesNotRunOnADeviceThatNobodyCanRead) {
  Start(5, WithRoom());
  SetError("GPU-1", absl::DeadlineExceededError("the driver hangs"));
  const std::string id = CreateId(WithBudget(GiB(1)));
  EXPECT_EQ(WaitUntilItWaits(id)->waiting_for->reason,
            WaitingReason::kDeviceNotRead);
  EXPECT_EQ(WaitForEnd(CreateId(WithBudget(GiB(1), "GPU-2")))->state,
            ProbeState::kSucceeded);
  SetError("GPU-1", absl::OkStatus());
  EXPECT_EQ(WaitForEnd(id)->state, ProbeState::kSucceeded);
}

TEST_F(RoomTest, BeginsAnewOnAnotherDeviceOfThatName) {
  runner_ = std::make_unique<FakeTrialRunner>(FakeTrialRunner::FitsUpTo(5));
  Probe cut;
  cut.id = "a";
  cut.spec = Profile({1, 2});
  cut.state = ProbeState::kRunning;
  cut.trials.resize(1);
  cut.device_identity = "GPU-1, of before";
  store_.Put(cut);
  Restart(WithRoom());
  const ProbePtr ended = WaitForEnd("a");
  EXPECT_THAT(ended->begun_anew_reason, HasSubstr("GPU-1, of before"));
  EXPECT_EQ(runner_->batches().size(), 2u);
}

TEST_F(RoomTest, QueuedProbesWaitWhileNoWorkerStarts) {
  ProbeJobs::Options options = WithRoom();
  options.workers.most_failed_starts = 1;
  options.workers.rest = std::chrono::hours(1);
  Start(
      [](const TrialOrder&) -> absl::StatusOr<TrialResult> {
        return absl::ResourceExhaustedError("no memory for a process");
      },
      options);
  EXPECT_EQ(WaitForEnd(CreateId(Profile({1})))->state, ProbeState::kFailed);
  const ProbePtr waiting = WaitUntilItWaits(CreateId(Profile({1})));
  EXPECT_EQ(waiting->waiting_for->reason, WaitingReason::kWorkers);
  EXPECT_THAT(waiting->waiting_for->words, HasSubstr("no memory"));
  EXPECT_TRUE(jobs_->Counts().workers_resting);
}

}  // namespace
}  // namespace memplan
