#include "server/base/timers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace memplan {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::ElementsAre;

TEST(TimersTest, CallsInTheOrderOfTheTimes) {
  Timers timers;
  std::promise<void> third;
  std::vector<int> calls;  // on the timers' thread alone, until the last
  const auto now = steady_clock::now();
  timers.Set(now + milliseconds(20), [&] {
    calls.push_back(3);
    third.set_value();
  });
  timers.Set(now + milliseconds(10), [&] { calls.push_back(2); });
  timers.Set(now - milliseconds(10), [&] { calls.push_back(1); });
  third.get_future().wait();
  EXPECT_THAT(calls, ElementsAre(1, 2, 3));
}

TEST(TimersTest, DoesNotCallWhatWasCancelled) {
  Timers timers;
  bool called = false;
  std::promise<void> later;
  const auto soon = steady_clock::now() + milliseconds(20);
  const Timers::Id id = timers.Set(soon, [&] { called = true; });
  timers.Set(soon + milliseconds(1), [&] { later.set_value(); });
  timers.Cancel(id);
  later.get_future().wait();
  EXPECT_FALSE(called);
}

TEST(TimersTest, CancelWaitsForTheCallThatIsRunning) {
  Timers timers;
  std::promise<void> begun;
  std::promise<void> go_on;
  bool ended = false;
  const Timers::Id id = timers.Set(steady_clock::now(), [&] {
    begun.set_value();
    go_on.get_future().wait();
    ended = true;
  });
  begun.get_future().wait();
  std::thread cancelling([&] {
    timers.Cancel(id);
    EXPECT_TRUE(ended);
  });
  go_on.set_value();
  cancelling.join();
}

TEST(TimersTest, ACallMayCancelItselfAndSetAnother) {
  Timers timers;
  std::promise<void> second;
  Timers::Id id;
  std::promise<void> set;
  id = timers.Set(steady_clock::now() + milliseconds(1), [&] {
    set.get_future().wait();
    timers.Cancel(id);
    timers.Set(steady_clock::now(), [&] { second.set_value(); });
  });
  set.set_value();
  second.get_future().wait();
}

TEST(TimersTest, StopDropsWhatIsLeft) {
  Timers timers;
  bool called = false;
  timers.Set(steady_clock::now() + hours(1), [&] { called = true; });
  timers.Stop();
  timers.Stop();
  timers.Set(steady_clock::now(), [&] { called = true; });
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace memplan
