#include "planner/admission/check.h"

#include <gtest/gtest.h>

#include <string>

#include "planner/admission/ledger.h"
#include "tests/planner/admission/admission_samples.h"

namespace memplan {
namespace {

using testing::Card;
using testing::Promise;

Judgement JudgeOn(const Device& device, Bytes bytes, CheckRules rules = {},
                  const PromiseSums& sums = {},
                  absl::Duration age = absl::Seconds(1)) {
  return Judge(StatedNeed(bytes), {.device = &device, .sums = sums, .age = age},
               rules);
}

TEST(CheckTest, CountsTheDriverReserve) {
  // Row 6 (KAI-Scheduler#2212): 15 GiB of a T4, 450 MiB kept by the driver.
  const Device device = Card(GiB(15), MiB(450), Bytes(0));
  const CheckRules rules = {.headroom = MiB(50)};
  EXPECT_EQ(JudgeOn(device, GiB(15) - MiB(500), rules).verdict, Verdict::kFits);
  EXPECT_EQ(JudgeOn(device, GiB(15) - MiB(500) + Bytes(1), rules).verdict,
            Verdict::kNever);
}

TEST(CheckTest, CountsInBytesSoThatTwentyFourTimes2000MiBDoNotFit) {
  // Row 5 (KAI-Scheduler#416): 46068 MiB take 23 times 2000 MiB and no more.
  const Device device = Card(MiB(46068), Bytes(0), Bytes(0));
  Ledger ledger;
  int admitted = 0;
  while (JudgeOn(device, MiB(2000), {}, ledger.SumsOn("GPU-a")).verdict ==
         Verdict::kFits) {
    ledger.Add(Promise("r" + std::to_string(admitted++), MiB(2000)));
  }
  EXPECT_EQ(admitted, 23);
}

TEST(CheckTest, MeasuredUseReplacesThePromiseAndNeverAddsToIt) {
  // A job was promised 12 of 24 GiB and uses 5 of them: 12 are left, not 7.
  Ledger ledger;
  ledger.Add(Promise("a", GiB(12)));
  ledger.Adopt("a", {.pid = 7, .start_ticks = 1});
  ledger.Observe("a", GiB(5));
  const Device device = Card(GiB(24), Bytes(0), GiB(5));
  const PromiseSums sums = ledger.SumsOn("GPU-a");
  EXPECT_EQ(JudgeOn(device, GiB(12), {}, sums).verdict, Verdict::kFits);
  EXPECT_EQ(JudgeOn(device, GiB(12) + Bytes(1), {}, sums).verdict,
            Verdict::kNotNow);
}

TEST(CheckTest, FreeNeverWraps) {
  // Row 1 (volcano#2859): more is used and promised than there is.
  Device device = Card(GiB(24), GiB(1), GiB(30));
  const Judgement judgement =
      JudgeOn(device, GiB(1), {.headroom = GiB(1)},
              {.promised = GiB(20), .outstanding = GiB(20)});
  EXPECT_EQ(judgement.verdict, Verdict::kNotNow);
  EXPECT_EQ(judgement.available, Bytes(0));
}

TEST(CheckTest, SaysWhenToAskAgainWherePromisesRunOut) {
  const Device device = Card(GiB(24), Bytes(0), GiB(20));
  CheckRules rules;
  EXPECT_EQ(JudgeOn(device, GiB(5), rules).retry_after, absl::Seconds(5));
  rules.next_expiry = absl::Seconds(12);
  EXPECT_EQ(JudgeOn(device, GiB(5), rules).retry_after, absl::Seconds(12));
  rules.next_expiry = absl::Hours(1);
  EXPECT_EQ(JudgeOn(device, GiB(5), rules).retry_after, absl::Seconds(30));
}

TEST(CheckTest, NeverIsForWhatNoWaitCanHelp) {
  const Device device = Card(GiB(24), GiB(1), GiB(20));
  EXPECT_EQ(JudgeOn(device, GiB(23)).verdict, Verdict::kNotNow);
  const Judgement judgement = JudgeOn(device, GiB(24));
  EXPECT_EQ(judgement.verdict, Verdict::kNever);
  EXPECT_EQ(judgement.retry_after, std::nullopt);
}

struct UnknownCase {
  std::string name;
  Device device;
  absl::Duration age;
  VerdictReason reason;
};

class CheckOfTheUnknownTest : public ::testing::TestWithParam<UnknownCase> {};

TEST_P(CheckOfTheUnknownTest, IsSaidAndTurnedAsTheCallerWants) {
  const auto& [name, device, age, reason] = GetParam();
  CheckRules rules;
  Judgement judgement = JudgeOn(device, GiB(2), rules, {}, age);
  EXPECT_EQ(judgement.verdict, Verdict::kUnknown);
  EXPECT_EQ(judgement.reason, reason);
  EXPECT_TRUE(judgement.retry_after.has_value());

  rules.unknown = UnknownPolicy::kNotNow;
  judgement = JudgeOn(device, GiB(2), rules, {}, age);
  EXPECT_EQ(judgement.verdict, Verdict::kNotNow);
  EXPECT_EQ(judgement.reason, reason);

  rules.unknown = UnknownPolicy::kByLastKnown;
  judgement = JudgeOn(device, GiB(2), rules, {}, age);
  EXPECT_EQ(judgement.verdict, Verdict::kFits);
  EXPECT_EQ(judgement.reason, reason);
  // Nothing is granted beyond what is promised already.
  judgement = JudgeOn(device, GiB(2), rules,
                      {.promised = GiB(23), .outstanding = GiB(23)}, age);
  EXPECT_EQ(judgement.verdict, Verdict::kNotNow);
}

Device Lost() {
  Device device;
  device.id = "GPU-a";
  device.total = GiB(24);
  device.read_error = "the GPU is lost";
  return device;
}

Device WithoutFigures() {
  Device device;
  device.id = "GPU-a";
  device.total = GiB(24);
  return device;
}

INSTANTIATE_TEST_SUITE_P(
    Reasons, CheckOfTheUnknownTest,
    ::testing::Values(UnknownCase{"Stale", Card(GiB(24), Bytes(0), GiB(2)),
                                  absl::Minutes(1),
                                  VerdictReason::kSnapshotStale},
                      // Row 17 (dcgm-exporter#348): it fell off the bus.
                      UnknownCase{"Lost", Lost(), absl::Seconds(1),
                                  VerdictReason::kDeviceLost},
                      UnknownCase{"NotTold", WithoutFigures(), absl::Seconds(1),
                                  VerdictReason::kMemoryNotTold}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace memplan
