#include "server/admission/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/server/admission/admission_world.h"

namespace memplan::testing {
namespace {

using ::testing::HasSubstr;

TEST(AdmissionTest, MeasuredUseOfAProcessAndItsChildrenReplacesThePromise) {
  AdmissionWorld world;
  world.SetCard("GPU-a", GiB(24));
  const Reservation mine = world.Reserve(GiB(12));
  world.processes.Start(100, 1);
  world.processes.Start(101, 2, /*parent=*/100);
  ASSERT_TRUE(world.Adopt(mine, 100).ok());
  world.SetCard("GPU-a", GiB(24),
                {{101, "python", GiB(5)}, {9, "stranger", GiB(2)}});
  const Answer answer = world.Check(GiB(10));
  EXPECT_EQ(answer.sums.measured, GiB(5));
  EXPECT_EQ(answer.sums.outstanding, GiB(7));
  EXPECT_EQ(answer.judgement.available, GiB(10));
  EXPECT_EQ(answer.judgement.verdict, Verdict::kFits);
}

TEST(AdmissionTest, OnTheCpuAJobsResidentMemoryCounts) {
  AdmissionWorld world;
  Device cpu;
  cpu.id = "cpu";
  cpu.is_cpu = true;
  cpu.total = GiB(64);
  cpu.free = GiB(40);
  world.SetDevice(cpu);
  const Reservation mine = world.Reserve(GiB(10), "cpu");
  world.processes.Start(100, 1, 1, GiB(3));
  world.processes.Start(101, 1, 100, GiB(4));
  ASSERT_TRUE(world.Adopt(mine, 100).ok());
  world.Pass(absl::Seconds(1));
  EXPECT_EQ(world.Check(GiB(1), "cpu").sums.outstanding, GiB(3));
}

TEST(AdmissionTest, AProcessThatStartedAtAnotherMomentIsNotAdopted) {
  AdmissionWorld world;
  world.SetCard("GPU-a", GiB(24));
  const Reservation mine = world.Reserve(GiB(12));
  EXPECT_EQ(ReasonOf(world.Adopt(mine, 100).status()), "PROCESS_NOT_FOUND");
  world.processes.Start(100, 7);
  EXPECT_EQ(ReasonOf(world.Adopt(mine, 100, 6).status()), "PROCESS_NOT_FOUND");
  ASSERT_TRUE(world.Adopt(mine, 100, 7).ok());
  const Reservation other = world.Reserve(GiB(2));
  EXPECT_EQ(ReasonOf(world.Adopt(other, 100).status()), "PROCESS_HELD");
}

TEST(AdmissionTest, ARepeatedCallGivesTheSameReservationAlsoAfterARestart) {
  AdmissionWorld world;
  world.SetCard("GPU-a", GiB(24));
  const Reservation first = world.Reserve(GiB(12), "GPU-a", "request-1");
  EXPECT_EQ(world.Reserve(GiB(12), "GPU-a", "request-1").id, first.id);
  world.Restart();
  world.Pass(absl::ZeroDuration());
  const Reservation again = world.Reserve(GiB(12), "GPU-a", "request-1");
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(again.token, first.token);
  EXPECT_EQ(
      ReasonOf(
          world.TryReserve({.job = {.need = GiB(9)}, .request_id = "request-1"})
              .status()),
      "REQUEST_ID_REUSED");
}

TEST(AdmissionTest, ARestartKeepsWhatLivingProcessesHaveAndLifetimesThatRun) {
  AdmissionWorld world;
  world.SetCard("GPU-a", GiB(24));
  const Reservation lives = world.Reserve(GiB(4));
  const Reservation died = world.Reserve(GiB(4));
  const Reservation promised = world.Reserve(GiB(4));
  world.processes.Start(1, 1);
  world.processes.Start(2, 1);
  ASSERT_TRUE(world.Adopt(lives, 1).ok());
  ASSERT_TRUE(world.Adopt(died, 2).ok());
  world.Pass(absl::Seconds(40));
  world.processes.End(2);
  world.Restart();
  world.Pass(absl::Seconds(30));  // 70 s after it was promised
  EXPECT_EQ(world.StateOf(lives), ReservationState::kAdopted);
  EXPECT_EQ(world.StateOf(died), ReservationState::kPromised);
  EXPECT_EQ(world.StateOf(promised), ReservationState::kExpired);
}

TEST(AdmissionTest, WhatRanOutWhileNoDaemonWasThereHasEndedAtTheStart) {
  AdmissionWorld world;
  world.SetCard("GPU-a", GiB(24));
  const Reservation over = world.Reserve(GiB(4));
  const Reservation kept = world.Reserve(GiB(4));
  ASSERT_TRUE(world.Renew(kept, absl::Hours(1)).ok());
  world.StopDaemon();
  world.Pass(absl::Seconds(61));
  for (int i = 0; i < 2; ++i) {
    world.Restart();
    EXPECT_EQ(world.StateOf(over), ReservationState::kExpired);
    EXPECT_EQ(world.StateOf(kept), ReservationState::kPromised);
  }
}

TEST(AdmissionTest, ALargeJobThatHasWaitedLongIsNotPassedByAnybody) {
  AdmissionWorld world;
  world.SetCard("GPU-a", GiB(24));
  const Reservation small = world.Reserve(GiB(4));
  ASSERT_TRUE(world.Renew(small, absl::Hours(1)).ok());
  std::promise<absl::StatusOr<Admitted>> large;
  world.admission().Wait({.job = {.need = GiB(24)}}, std::chrono::minutes(5),
                         [&](absl::StatusOr<Admitted> admitted) {
                           large.set_value(std::move(admitted));
                         });
  const Reservation passes = world.Reserve(GiB(4));
  EXPECT_FALSE(passes.id.empty());
  world.Pass(absl::Seconds(11));
  EXPECT_EQ(world.Check(GiB(4)).judgement.reason,
            VerdictReason::kHeldForWaiter);
  EXPECT_TRUE(world.Reserve(GiB(4)).id.empty());
  ASSERT_TRUE(world.Release(passes).ok());
  ASSERT_TRUE(world.Release(small).ok());
  world.Pass(absl::ZeroDuration());
  const auto admitted = large.get_future().get();
  ASSERT_TRUE(admitted.ok());
  EXPECT_TRUE(admitted->reservation.has_value());
}

TEST(AdmissionTest, AWaitThatCannotHelpEndsAtOnceAndADrainEndsTheOthers) {
  AdmissionWorld world;
  world.SetCard("GPU-a", GiB(24));
  world.Reserve(GiB(20));
  std::optional<absl::StatusOr<Admitted>> never;
  world.admission().Wait({.job = {.need = GiB(25)}}, std::chrono::minutes(5),
                         [&](const auto& admitted) { never = admitted; });
  ASSERT_TRUE(never.has_value() && never->ok());
  EXPECT_EQ((*never)->answer.judgement.verdict, Verdict::kNever);
  std::optional<absl::StatusOr<Admitted>> waits;
  world.admission().Wait({.job = {.need = GiB(10)}}, std::chrono::minutes(5),
                         [&](const auto& admitted) { waits = admitted; });
  EXPECT_FALSE(waits.has_value());
  world.admission().Drain();
  ASSERT_TRUE(waits.has_value());
  EXPECT_EQ(ReasonOf(waits->status()), "SHUTTING_DOWN");
  EXPECT_EQ(ReasonOf(world.TryReserve({.job = {.need = GiB(1)}}).status()),
            "SHUTTING_DOWN");
}

TEST(AdmissionTest, PlacesWhereTheCallerLeavesItOpen) {
  AdmissionWorld world;
  world.SetCard("GPU-a", GiB(80));
  world.SetCard("GPU-b", GiB(24));
  EXPECT_EQ(world.Check(GiB(10)).device->id, "GPU-b");
  const auto spread = world.admission().Check(
      {.need = GiB(10), .placement = Placement::kSpread});
  EXPECT_EQ(spread->device->id, "GPU-a");
  EXPECT_EQ(
      ReasonOf(
          world.admission().Check({.need = GiB(1), .device = "0"}).status()),
      "INVALID_ADMISSION");
  EXPECT_EQ(ReasonOf(world.admission()
                         .Check({.need = GiB(1), .device = "GPU-z"})
                         .status()),
            "DEVICE_NOT_FOUND");
}

TEST(AdmissionTest, AStaleReadingIsUnknownAndItsAgeIsOfAClockThatNobodySets) {
  AdmissionWorld world;
  world.SetCard("GPU-a", GiB(24));
  world.Pass(absl::Seconds(11));
  const auto answer =
      world.admission().Check({.need = GiB(1), .max_age = absl::Seconds(10)});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->judgement.reason, VerdictReason::kSnapshotStale);
  EXPECT_EQ(answer->age, absl::Seconds(11));
  const auto patient =
      world.admission().Check({.need = GiB(1), .max_age = absl::Minutes(1)});
  EXPECT_EQ(patient->judgement.verdict, Verdict::kFits);
}

TEST(AdmissionTest, OurOwnProbesHoldTheirMemoryAndTheirWorkersCountOnce) {
  AdmissionWorld world;
  world.SetCard("GPU-a", GiB(24));
  world.processes.Start(getpid(), 1);
  world.processes.Start(500, 2, /*parent=*/getpid());
  Device reading = *world.Check(GiB(1)).device;
  const auto held = world.admission().Hold(reading, GiB(16), false, "probe x");
  ASSERT_TRUE(std::holds_alternative<int64_t>(held));
  EXPECT_EQ(world.Check(GiB(9)).judgement.verdict, Verdict::kNotNow);
  world.SetCard("GPU-a", GiB(24), {{500, "memplan-worker", GiB(10)}});
  EXPECT_EQ(world.Check(GiB(8)).judgement.available, GiB(8));
  const auto second =
      world.admission().Hold(*world.Check(GiB(1)).device, GiB(9), false, "y");
  ASSERT_TRUE(std::holds_alternative<std::string>(second));
  EXPECT_THAT(std::get<std::string>(second), HasSubstr("promised"));
  world.admission().EndHold(std::get<int64_t>(held));
  EXPECT_EQ(world.Check(GiB(8)).sums, PromiseSums());
}

TEST(AdmissionTest, ObservesJobsAgainstTheirPromise) {
  AdmissionWorld world;
  world.SetCard("GPU-a", GiB(24));
  const Reservation mine = world.Reserve(GiB(4));
  world.processes.Start(100, 1);
  ASSERT_TRUE(world.Adopt(mine, 100).ok());
  world.SetCard("GPU-a", GiB(24), {{100, "python", GiB(5)}});
  EXPECT_TRUE(IsOverPromise(*world.admission().Get(mine.id)));
  ASSERT_TRUE(world.ReportOutOfMemory(mine).ok());
  ASSERT_TRUE(world.ReportOutOfMemory(mine).ok());
  ASSERT_TRUE(world.Release(mine).ok());
  const AdmissionCounts counts = world.admission().Counts();
  EXPECT_EQ(counts.false_admits, 1);
  EXPECT_EQ(counts.ratios.by_bucket[8], 1);  // 1.25
  EXPECT_EQ(counts.suggested_headroom, GiB(1));
}

}  // namespace
}  // namespace memplan::testing
