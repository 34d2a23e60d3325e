#include "planner/admission/headroom_policy.h"

#include <gtest/gtest.h>

namespace memplan {
namespace {

TEST(HeadroomPolicyTest, AsksForWhatTheWorstJobLacked) {
  HeadroomPolicy policy;
  EXPECT_EQ(policy.Suggestion(), Bytes(0));
  policy.Learn({.promised = GiB(10), .peak = GiB(9)});
  EXPECT_EQ(policy.Suggestion(), Bytes(0));
  policy.Learn({.promised = GiB(10), .peak = GiB(10) + MiB(65)});
  EXPECT_EQ(policy.Suggestion(), MiB(128));
}

TEST(HeadroomPolicyTest, AFalseAdmitCountsATenthAtLeast) {
  HeadroomPolicy policy;
  policy.Learn(
      {.promised = MiB(6400), .peak = MiB(6000), .ran_out_of_memory = true});
  EXPECT_EQ(policy.Suggestion(), MiB(640));
}

TEST(HeadroomPolicyTest, ForgetsAfterAHundredJobs) {
  HeadroomPolicy policy;
  policy.Learn({.promised = GiB(1), .peak = GiB(2)});
  for (int i = 0; i < 100; ++i) {
    policy.Learn({.promised = GiB(1), .peak = GiB(1)});
  }
  EXPECT_EQ(policy.Suggestion(), Bytes(0));
}

}  // namespace
}  // namespace memplan
