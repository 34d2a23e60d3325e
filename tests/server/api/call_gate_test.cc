#include "server/services/call_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "tests/server/api/reason_matchers.h"

namespace memplan::testing {
namespace {

using std::chrono::microseconds;
using ::testing::HasSubstr;

const RateLimit::Time kNow{std::chrono::hours(1)};

int EntriesAt(CallGate& gate, RateLimit::Time now, int jobs = 1) {
  int entries = 0;
  while (gate.Enter(jobs, now).ok()) ++entries;
  return entries;
}

TEST(CallGateTest, LetsABurstInAndThenItsRate) {
  CallGate gate(1000);
  EXPECT_EQ(EntriesAt(gate, kNow), 50);  // of a twentieth of a second
  EXPECT_EQ(EntriesAt(gate, kNow + microseconds(10'500)), 10);
  EXPECT_EQ(EntriesAt(gate, kNow + microseconds(11'800)), 1);
  // A long pause saves nothing up.
  EXPECT_EQ(EntriesAt(gate, kNow + std::chrono::minutes(1)), 50);
}

TEST(CallGateTest, SaysWhichBoundAndWhatToDo) {
  CallGate gate(1);
  EXPECT_TRUE(gate.Enter(1, kNow).ok());
  const absl::Status refused = gate.Enter(1, kNow);
  EXPECT_THAT(refused, FailsWith(absl::StatusCode::kResourceExhausted,
                                 "TOO_MANY_CHECKS", ""));
  EXPECT_THAT(refused.message(), HasSubstr("more than 1 checks a second"));
  EXPECT_THAT(refused.message(), HasSubstr("WaitForMemory"));
}

TEST(CallGateTest, EightJobsOfACallCountAsOneCall) {
  CallGate gate(1000);
  EXPECT_EQ(EntriesAt(gate, kNow, 80), 5);
  // None is too large to get in at all; those after it pay.
  CallGate slow(1);
  EXPECT_TRUE(slow.Enter(256, kNow).ok());
  EXPECT_FALSE(slow.Enter(1, kNow + std::chrono::seconds(31)).ok());
  EXPECT_TRUE(slow.Enter(1, kNow + std::chrono::seconds(33)).ok());
}

TEST(CallGateTest, HasNoBoundAtZero) {
  CallGate gate(0);
  for (int i = 0; i < 100'000; ++i) ASSERT_TRUE(gate.Enter(256, kNow).ok());
}

}  // namespace
}  // namespace memplan::testing
