#include "server/base/work_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <vector>

namespace memplan {
namespace {

// Work that says when it has begun and then waits to be let go.
class Gate {
 public:
  std::function<void()> Work() {
    return [this] {
      begun_.set_value();
      opened_.get_future().wait();
    };
  }
  void WaitUntilBegun() { begun_.get_future().wait(); }
  void Open() { opened_.set_value(); }

 private:
  std::promise<void> begun_;
  std::promise<void> opened_;
};

TEST(WorkQueueTest, OneThreadWorksInTheOrderPosted) {
  std::vector<int> order;
  {
    WorkQueue queue(1, 10);
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(queue.Post([&order, i] { order.push_back(i); }));
    }
  }
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(WorkQueueTest, RefusesWhenTheLineIsFull) {
  Gate gate;
  WorkQueue queue(1, 2);
  ASSERT_TRUE(queue.Post(gate.Work()));
  gate.WaitUntilBegun();
  EXPECT_TRUE(queue.Post([] {}));
  EXPECT_TRUE(queue.Post([] {}));
  EXPECT_FALSE(queue.Post([] {}));
  gate.Open();
}

TEST(WorkQueueTest, ThreadsWorkAtTheSameTime) {
  Gate first;
  Gate second;
  WorkQueue queue(2, 10);
  ASSERT_TRUE(queue.Post(first.Work()));
  ASSERT_TRUE(queue.Post(second.Work()));
  first.WaitUntilBegun();
  second.WaitUntilBegun();
  first.Open();
  second.Open();
}

TEST(WorkQueueTest, StopFinishesWhatWasPostedAndRefusesTheRest) {
  std::atomic<int> done = 0;
  WorkQueue queue(3, 100);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(queue.Post([&done] { ++done; }));
  queue.Stop();
  EXPECT_EQ(done, 50);
  EXPECT_FALSE(queue.Post([] {}));
  queue.Stop();
}

TEST(WorkQueueTest, WhatWorkHoldsMayPostAsItIsDestroyed) {
  std::promise<void> let_go;
  std::promise<void> posted;
  WorkQueue queue(1, 10);
  std::shared_ptr<int> held(new int(0), [&](int* number) {
    delete number;
    queue.Post([&posted] { posted.set_value(); });
  });
  ASSERT_TRUE(
      queue.Post([copy = held, &let_go] { let_go.get_future().wait(); }));
  held.reset();  // the work's copy is the last
  let_go.set_value();
  posted.get_future().wait();
}

}  // namespace
}  // namespace memplan
