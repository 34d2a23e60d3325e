#include "server/base/call_counts.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "server/base/rate_limit.h"

namespace memplan::testing {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::vector<CallMethod> TwoMethods() {
  return {{"a.v1.Things", "GetThing", true},
          {"a.v1.Things", "WatchThing", false}};
}

TEST(CallCountsTest, CountsByMethodAndCode) {
  CallCounts counts(TwoMethods());
  const size_t get = counts.Find("/a.v1.Things/GetThing");
  counts.Begin(get);
  counts.Begin(get);
  counts.End(get, 5, microseconds(60));
  EXPECT_EQ(counts.InProgress(), 1);
  const MethodCalls calls = counts.Read()[0];
  EXPECT_EQ(calls.method.method, "GetThing");
  EXPECT_EQ(calls.in_progress, 1);
  EXPECT_EQ(calls.ended_by_code[5], 1);
  EXPECT_EQ(calls.ended_by_code[0], 0);
}

TEST(CallCountsTest, PutsACallIntoTheFirstBucketThatHoldsIt) {
  CallCounts counts(TwoMethods());
  for (const auto took :
       {microseconds(50), microseconds(51), microseconds(0)}) {
    counts.Begin(0);
    counts.End(0, 0, took);
  }
  counts.Begin(0);
  counts.End(0, 0, seconds(2));
  const MethodCalls calls = counts.Read()[0];
  EXPECT_EQ(calls.by_bucket.front(), 2);  // up to 50 µs
  EXPECT_EQ(calls.by_bucket[1], 1);       // up to 100 µs
  EXPECT_EQ(calls.by_bucket.back(), 1);   // above a second
  EXPECT_DOUBLE_EQ(calls.seconds, 2.000101);
}

TEST(CallCountsTest, LeavesOutHowLongStreamsTook) {
  CallCounts counts(TwoMethods());
  counts.Begin(1);
  counts.End(1, 0, seconds(9));
  const MethodCalls calls = counts.Read()[1];
  EXPECT_EQ(calls.ended_by_code[0], 1);
  EXPECT_EQ(calls.seconds, 0);
}

TEST(CallCountsTest, CountsWhatItDoesNotKnowTogether) {
  CallCounts counts(TwoMethods());
  EXPECT_EQ(counts.Find("/a.v1.Things/Other"), counts.Find("/x/y"));
  counts.Begin(counts.Find("/x/y"));
  counts.End(counts.Find("/x/y"), 99, seconds(1));  // no code of gRPC's
  const MethodCalls others = counts.Read().back();
  EXPECT_EQ(others.method.service, "other");
  EXPECT_EQ(others.ended_by_code[2], 1);  // UNKNOWN
}

TEST(CallCountsTest, LosesNothingWhenThreadsCountAtOnce) {
  CallCounts counts(TwoMethods());
  constexpr int kCalls = 2000;
  const auto call = [&counts] {
    for (int i = 0; i < kCalls; ++i) {
      counts.Begin(0);
      counts.End(0, 0, microseconds(1));
    }
  };
  std::thread other(call);
  call();
  other.join();
  EXPECT_EQ(counts.Read()[0].ended_by_code[0], 2 * kCalls);
  EXPECT_EQ(counts.Read()[0].in_progress, 0);
}

TEST(RateLimitTest, GivesSoManyASecondAndCountsTheRest) {
  RateLimit limit(2);
  const RateLimit::Time start{seconds(100)};
  EXPECT_TRUE(limit.Take(start));
  EXPECT_TRUE(limit.Take(start));
  EXPECT_FALSE(limit.Take(start));
  EXPECT_FALSE(limit.Take(start + milliseconds(400)));  // 0.8 of one is back
  EXPECT_TRUE(limit.Take(start + milliseconds(500)));
  EXPECT_EQ(limit.TakeRefused(), 2);
  EXPECT_EQ(limit.TakeRefused(), 0);
}

TEST(RateLimitTest, SavesNoMoreThanASecondsWorth) {
  RateLimit limit(2);
  const RateLimit::Time start{seconds(100)};
  EXPECT_TRUE(limit.Take(start));
  const RateLimit::Time later = start + seconds(3600);
  EXPECT_TRUE(limit.Take(later));
  EXPECT_TRUE(limit.Take(later));
  EXPECT_FALSE(limit.Take(later));
}

}  // namespace
}  // namespace memplan::testing
