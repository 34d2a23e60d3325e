// The rows of the daemon's table of public cases that admission has to get right;
// each test is named for its row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/server/admission/admission_world.h"

namespace memplan::testing {
namespace {

using ::testing::HasSubstr;

// volcano-sh/volcano#2859: concurrent scheduling drives used above total.
TEST(AdmissionCasesTest, Row1OfTwoClientsWhoWantTheLastBytesExactlyOneWins) {
  AdmissionWorld world;
  world.SetCard("GPU-a", GiB(24));
  world.Reserve(GiB(14));
  std::atomic<int> winners = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 2; ++i) {
    clients.emplace_back([&] {
      if (!world.Reserve(GiB(10)).id.empty()) ++winners;
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(winners, 1);
  const Answer answer = world.Check(Bytes(1));
  EXPECT_EQ(answer.judgement.verdict, Verdict::kNotNow);
  EXPECT_EQ(answer.judgement.available, Bytes(0));
}

// volcano-sh/volcano#3616: three 12 GiB jobs on one 24 GiB GPU.
TEST(AdmissionCasesTest, Row2ParallelReservesStayWithinTheCard) {
  AdmissionWorld world;
  world.SetCard("GPU-a", GiB(24));
  std::atomic<int> granted = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back([&] {
      if (!world.Reserve(GiB(12)).id.empty()) ++granted;
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(granted, 2);
  EXPECT_EQ(world.Check(GiB(1)).sums.promised, GiB(24));
}

// volcano-sh/volcano#5532: record and placement drift after a rollback.
TEST(AdmissionCasesTest, Row3TheRecordIsTheTruthAfterExpiryReleaseAndRestart) {
  AdmissionWorld world;
  world.SetCard("GPU-a", GiB(24));
  const Reservation expires = world.Reserve(GiB(4));
  const Reservation released = world.Reserve(GiB(4));
  const Reservation stays = world.Reserve(GiB(4));
  ASSERT_TRUE(world.Release(released).ok());
  ASSERT_TRUE(world.Renew(stays, absl::Minutes(10)).ok());
  world.Pass(absl::Seconds(61));
  world.Restart();
  world.Pass(absl::ZeroDuration());
  EXPECT_EQ(world.StateOf(expires), ReservationState::kExpired);
  EXPECT_EQ(world.StateOf(released), ReservationState::kReleased);
  EXPECT_EQ(world.StateOf(stays), ReservationState::kPromised);
  EXPECT_EQ(world.Check(GiB(1)).sums.promised, GiB(4));
}

// Project-HAMi/HAMi#404: a restarting pod's accounting moves to another.
TEST(AdmissionCasesTest, Row9AHolderThatRestartsKeepsItsReservation) {
  AdmissionWorld world;
  world.SetCard("GPU-a", GiB(24));
  const Reservation mine = world.Reserve(GiB(20));
  world.processes.Start(100, 1);
  ASSERT_TRUE(world.Adopt(mine, 100).ok());
  world.processes.End(100);
  world.Pass(absl::Seconds(1));
  EXPECT_EQ(world.StateOf(mine), ReservationState::kPromised);
  EXPECT_EQ(world.Check(GiB(5)).judgement.verdict, Verdict::kNotNow);
  world.processes.Start(100, 2);  // the same number, another process
  ASSERT_TRUE(world.Adopt(mine, 100, 2).ok());
  world.Pass(absl::Hours(5));
  EXPECT_EQ(world.StateOf(mine), ReservationState::kAdopted);
}

// Project-HAMi/HAMi-core#170: two jobs of about all of a GPU.
TEST(AdmissionCasesTest, Row10TheSecondJobIsToldWhoHoldsTheCard) {
  AdmissionWorld world;
  world.SetCard("GPU-a", GiB(24), {{4711, "python", GiB(20)}});
  world.TryReserve({.job = {.need = GiB(3)}, .holder = "team-a"}).IgnoreError();
  const Answer answer = world.Check(GiB(22));
  EXPECT_EQ(answer.judgement.verdict, Verdict::kNotNow);
  EXPECT_THAT(WordsOf(answer), HasSubstr("pid 4711 (python) holds 20.0 GiB"));
  EXPECT_THAT(WordsOf(answer), HasSubstr("(team-a) holds 3.00 GiB"));
}

// Project-HAMi/HAMi#1128: let it wait instead of failing.
TEST(AdmissionCasesTest, Row11WhoWaitsGetsTheMemoryWhenItBecomesFree) {
  AdmissionWorld world;
  world.SetCard("GPU-a", GiB(24));
  const Reservation first = world.Reserve(GiB(20));
  std::promise<absl::StatusOr<Admitted>> answered;
  world.admission().Wait({.job = {.need = GiB(20)}}, std::chrono::minutes(5),
                         [&](absl::StatusOr<Admitted> admitted) {
                           answered.set_value(std::move(admitted));
                         });
  EXPECT_EQ(world.admission().Counts().waiters, 1);
  ASSERT_TRUE(world.Release(first).ok());
  world.Pass(absl::ZeroDuration());
  const auto admitted = answered.get_future().get();
  ASSERT_TRUE(admitted.ok()) << admitted.status();
  EXPECT_TRUE(admitted->reservation.has_value());
}

// NVIDIA/dcgm-exporter#348: a GPU off the bus is a state, not silence.
TEST(AdmissionCasesTest, Row17ALostDeviceIsUnknown) {
  AdmissionWorld world;
  world.SetCard("GPU-a", GiB(24));
  Device lost;
  lost.id = "GPU-a";
  lost.total = GiB(24);
  lost.read_error = "the GPU is lost";
  world.SetDevice(lost);
  const Answer answer = world.Check(GiB(1), "GPU-a");
  EXPECT_EQ(answer.judgement.verdict, Verdict::kUnknown);
  EXPECT_EQ(answer.judgement.reason, VerdictReason::kDeviceLost);
  EXPECT_THAT(WordsOf(answer), HasSubstr("the GPU is lost"));
}

// NVIDIA/dcgm-exporter#512, #380: MIG instances with totals of their own.
TEST(AdmissionCasesTest, Row20InstancesAreDevicesAndTheirGpuIsNotCountedTwice) {
  AdmissionWorld world;
  Device gpu;
  gpu.id = "GPU-a";
  gpu.total = GiB(80);
  gpu.is_partitioned = true;
  world.SetDevice(gpu);
  world.SetCard("MIG-a", GiB(10));
  EXPECT_EQ(world.Check(GiB(9)).device->id, "MIG-a");
  EXPECT_EQ(world.Check(GiB(11)).judgement.verdict, Verdict::kNever);
  const Answer answer = world.Check(GiB(1), "GPU-a");
  EXPECT_EQ(answer.judgement.reason, VerdictReason::kPartitioned);
  EXPECT_THAT(WordsOf(answer), HasSubstr("name one of its instances"));
}

// NVIDIA/dcgm-exporter#443: MIG mode and no instance.
TEST(AdmissionCasesTest, Row22AGpuInMigModeWithoutInstancesIsNoDevice) {
  AdmissionWorld world;
  Device gpu;
  gpu.id = "GPU-a";
  gpu.total = GiB(80);
  gpu.is_partitioned = true;
  world.SetDevice(gpu);
  EXPECT_EQ(world.Check(GiB(1)).judgement.reason, VerdictReason::kNoDevice);
}

// NVIDIA/k8s-device-plugin#389, #992: MIG repartition at run time.
TEST(AdmissionCasesTest, Row21ReservationsOnAGoneInstanceEndWithThatReason) {
  AdmissionWorld world;
  world.SetCard("MIG-a", GiB(10));
  world.SetCard("MIG-b", GiB(10));
  const Reservation gone = world.Reserve(GiB(4), "MIG-a");
  const Reservation stays = world.Reserve(GiB(4), "MIG-b");
  world.LoseDevice("MIG-a");
  world.Pass(absl::Seconds(4));
  EXPECT_EQ(world.StateOf(gone), ReservationState::kPromised);
  world.Pass(absl::Seconds(2));
  EXPECT_EQ(world.StateOf(gone), ReservationState::kDeviceGone);
  EXPECT_EQ(world.StateOf(stays), ReservationState::kPromised);
  EXPECT_EQ(ReasonOf(world.Renew(gone, absl::Minutes(1)).status()),
            "RESERVATION_ENDED");
}

// pytorch#4031, gpu-operator#2880: memory held by nobody that is known.
TEST(AdmissionCasesTest, Row26UnattributedMemoryCountsAsTaken) {
  AdmissionWorld world;
  Device device;
  device.id = "GPU-a";
  device.total = GiB(24);
  device.driver_reserve = Bytes(0);
  device.used = GiB(9);
  device.free = GiB(15);
  device.unattributed = GiB(9);
  world.SetDevice(device);
  EXPECT_EQ(world.Check(GiB(15)).judgement.verdict, Verdict::kFits);
  EXPECT_EQ(world.Check(GiB(16)).judgement.verdict, Verdict::kNotNow);
}

// triton-inference-server/server#3583, #7279.
TEST(AdmissionCasesTest, Row35OnlyTheOwnerLetsGo) {
  AdmissionWorld world;
  world.SetCard("GPU-a", GiB(24));
  Reservation mine = world.Reserve(GiB(20));
  Reservation thief = mine;
  thief.token = "guess";
  EXPECT_EQ(ReasonOf(world.Release(thief).status()), "NOT_THE_OWNER");
  EXPECT_EQ(world.StateOf(mine), ReservationState::kPromised);
  // Two processes share it; it lasts until both have ended.
  world.processes.Start(7, 1);
  world.processes.Start(8, 1);
  ASSERT_TRUE(world.Adopt(mine, 7).ok());
  ASSERT_TRUE(world.Adopt(mine, 8).ok());
  world.processes.End(7);
  world.Pass(absl::Hours(1));
  EXPECT_EQ(world.StateOf(mine), ReservationState::kAdopted);
}

// slurm-job-exporter#65: an allocation without a process is invisible.
TEST(AdmissionCasesTest, Row49WhatNobodyAdoptsIsCountedAndExpires) {
  AdmissionWorld world;
  world.SetCard("GPU-a", GiB(24));
  world.Reserve(GiB(20));
  EXPECT_EQ(world.admission().Counts().devices[0].sums.waiting, 1);
  world.Pass(absl::Seconds(61));
  const AdmissionCounts counts = world.admission().Counts();
  EXPECT_EQ(counts.devices[0].sums.waiting, 0);
  EXPECT_EQ(counts.expired_unused, 1);
}

// kubernetes-sigs/kueue#3258: a verdict says whether a retry makes sense.
TEST(AdmissionCasesTest, Row52AVerdictSaysWhenToAskAgainAndWhetherThatHelps) {
  AdmissionWorld world;
  world.SetCard("GPU-a", GiB(24));
  world.Reserve(GiB(20));
  EXPECT_EQ(world.Check(GiB(10)).judgement.retry_after, absl::Seconds(30));
  world.Pass(absl::Seconds(50));
  EXPECT_EQ(world.Check(GiB(10)).judgement.retry_after, absl::Seconds(10));
  EXPECT_EQ(world.Check(GiB(30)).judgement.retry_after, std::nullopt);
}

}  // namespace
}  // namespace memplan::testing
