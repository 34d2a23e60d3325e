#include "server/jobs/trial_runner.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

namespace memplan {
namespace {

bool IsReadable(int descriptor) {
  pollfd wait = {descriptor, POLLIN, 0};
  return poll(&wait, 1, 0) == 1;
}

TEST(CancelSignalTest, IsReadableForGoodOnceCancelled) {
  CancelSignal signal;
  EXPECT_FALSE(signal.cancelled());
  EXPECT_FALSE(IsReadable(signal.descriptor()));
  signal.Cancel();
  signal.Cancel();
  EXPECT_TRUE(signal.cancelled());
  EXPECT_TRUE(IsReadable(signal.descriptor()));
  EXPECT_TRUE(IsReadable(signal.descriptor()));
}

TEST(CancelSignalTest, WakesAnotherThread) {
  CancelSignal signal;
  std::thread waiting([&signal] {
    pollfd wait = {signal.descriptor(), POLLIN, 0};
    EXPECT_EQ(poll(&wait, 1, -1), 1);
    EXPECT_TRUE(signal.cancelled());
  });
  signal.Cancel();
  waiting.join();
}

}  // namespace
}  // namespace memplan
