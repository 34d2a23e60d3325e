#include "planner/admission/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/planner/admission/admission_samples.h"

namespace memplan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Promise;

constexpr HeldProcess kProcess = {.pid = 7, .start_ticks = 100};
constexpr HeldProcess kSameNumberLater = {.pid = 7, .start_ticks = 900};

TEST(LedgerTest, ExpiresWhatNobodyAdopted) {
  Ledger ledger;
  ledger.Add(Promise("a", GiB(1), absl::Seconds(10)));
  EXPECT_THAT(ledger.Expired(absl::Seconds(9)), IsEmpty());
  EXPECT_THAT(ledger.Expired(absl::Seconds(10)), ElementsAre("a"));
  ledger.Renew("a", absl::Seconds(10), absl::Seconds(20), GiB(1));
  EXPECT_THAT(ledger.Expired(absl::Seconds(29)), IsEmpty());
  EXPECT_THAT(ledger.Expired(absl::Seconds(30)), ElementsAre("a"));
}

TEST(LedgerTest, AHolderThatRestartsKeepsItsOwn) {
  // Row 9 (HAMi#404).
  Ledger ledger;
  ledger.Add(Promise("a", GiB(4), absl::Seconds(10)));
  ledger.Adopt("a", kProcess);
  EXPECT_THAT(ledger.Expired(absl::Hours(9)), IsEmpty());
  ledger.Observe("a", GiB(3));
  EXPECT_EQ(ledger.SumsOn("GPU-a").outstanding, GiB(1));

  ledger.DropProcesses("a", {kProcess}, absl::Hours(10));
  EXPECT_EQ(ledger.SumsOn("GPU-a").outstanding, GiB(4));
  EXPECT_THAT(ledger.Expired(absl::Hours(10) + absl::Seconds(59)), IsEmpty());
  ledger.Adopt("a", kSameNumberLater);
  EXPECT_THAT(ledger.Expired(absl::Hours(20)), IsEmpty());
  EXPECT_EQ(ledger.SumsOn("GPU-a").adopted, 1);
  EXPECT_EQ(ledger.Find("a")->peak, GiB(3));
}

TEST(LedgerTest, LastsUntilTheLastOfItsProcessesHasEnded) {
  Ledger ledger;
  ledger.Add(Promise("a", GiB(4), absl::Seconds(10)));
  ledger.Adopt("a", kProcess);
  ledger.Adopt("a", kSameNumberLater);
  ledger.DropProcesses("a", {kProcess}, absl::Seconds(20));
  EXPECT_EQ(ledger.Find("a")->state, ReservationState::kAdopted);
  ledger.DropProcesses("a", {kSameNumberLater}, absl::Seconds(20));
  EXPECT_EQ(ledger.Find("a")->state, ReservationState::kPromised);
}

TEST(LedgerTest, APromiseMayShrinkAndNeverGrow) {
  Ledger ledger;
  ledger.Add(Promise("a", GiB(4)));
  ledger.Renew("a", absl::ZeroDuration(), absl::Seconds(60), GiB(3));
  EXPECT_EQ(ledger.SumsOn("GPU-a").promised, GiB(3));
  ledger.Renew("a", absl::ZeroDuration(), absl::Seconds(60), GiB(9));
  EXPECT_EQ(ledger.SumsOn("GPU-a").promised, GiB(3));
}

TEST(LedgerTest, NamesTheLargestClaimsFirst) {
  Ledger ledger;
  ledger.Add(Promise("small", GiB(1)));
  ledger.Add(Promise("large", GiB(3)));
  ledger.Add(Promise("grown", GiB(2)));
  ledger.Adopt("grown", kProcess);
  ledger.Observe("grown", GiB(5));
  std::vector<std::string> names;
  for (const Reservation* each : ledger.LargestOn("GPU-a", 2)) {
    names.push_back(each->id);
  }
  EXPECT_THAT(names, ElementsAre("grown", "large"));
  EXPECT_TRUE(IsOverPromise(*ledger.Find("grown")));
  EXPECT_EQ(ledger.PromisesOn("GPU-a").over_promise, 1);
  EXPECT_THAT(ledger.LargestOn("GPU-b", 2), IsEmpty());
}

TEST(LedgerTest, VisitsThoseThatProcessesHold) {
  Ledger ledger;
  ledger.Add(Promise("promised", GiB(1)));
  ledger.Add(Promise("held", GiB(1)));
  ledger.Add(Promise("left", GiB(1)));
  ledger.Adopt("held", kProcess);
  ledger.Adopt("left", kProcess);
  ledger.Observe("left", GiB(2));
  ledger.DropProcesses("left", {kProcess}, absl::ZeroDuration());
  std::vector<std::string> names;
  ledger.ForEachAdopted(
      [&names](const Reservation& each) { names.push_back(each.id); });
  EXPECT_THAT(names, ElementsAre("held"));
  // It used more than its promise once, which is kept in mind.
  EXPECT_EQ(ledger.PromisesOn("GPU-a").over_promise, 1);
  ledger.Remove("left", ReservationState::kReleased, absl::FromUnixSeconds(5));
  EXPECT_EQ(ledger.PromisesOn("GPU-a").over_promise, 0);
}

TEST(LedgerTest, LeavesNothingBehind) {
  Ledger ledger;
  ledger.Add(Promise("a", GiB(4)));
  const Reservation ended =
      ledger.Remove("a", ReservationState::kReleased, absl::FromUnixSeconds(5));
  EXPECT_EQ(ended.state, ReservationState::kReleased);
  EXPECT_EQ(ledger.Find("a"), nullptr);
  EXPECT_EQ(ledger.SumsOn("GPU-a"), PromiseSums());
  EXPECT_EQ(ledger.PromisesOn("GPU-a").next_expiry, std::nullopt);
}

}  // namespace
}  // namespace memplan
