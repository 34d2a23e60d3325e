#include "server/workers/spare_workers.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "absl/status/status.h"

namespace memplan {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongPatience = std::chrono::minutes(10);

// Waits for what another thread is about to bring about.
template <typename Condition>
bool Comes(const Condition& condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return false;
}

class SpareWorkersTest : public ::testing::Test {
 protected:
  SpareWorkers::Start Starter() {
    return [this](const std::string&) -> absl::StatusOr<StartedWorker> {
      if (cannot_start_) {
        ++refused_;
        return absl::ResourceExhaustedError("no memory");
      }
      auto worker = StartWorker(program_, {}, MiB(16));
      if (!worker.ok()) return worker.status();
      ++started_;
      return StartedWorker{{}, {}, *std::move(worker)};
    };
  }
  SpareWorkers::OnLost Loser() {
    return [this](bool died) { ++(died ? died_ : unwanted_); };
  }

  std::string program_ = MEMPLAN_SCRIPTED_WORKER;
  std::atomic<bool> cannot_start_ = false;
  std::atomic<int> started_ = 0;
  std::atomic<int> refused_ = 0;
  std::atomic<int> died_ = 0;
  std::atomic<int> unwanted_ = 0;
};

TEST_F(SpareWorkersTest, HasSomeWhereOneIsExpected) {
  SpareWorkers spares(2, kLongPatience, Starter(), Loser());
  spares.Expect("GPU-1");
  EXPECT_TRUE(Comes([&] { return spares.waiting("GPU-1") == 2; }));
  EXPECT_TRUE(spares.Take("GPU-1").has_value());
}

TEST_F(SpareWorkersTest, StartsNoneByExpectationIfThereAreToBeNone) {
  SpareWorkers spares(0, kLongPatience, Starter(), Loser());
  spares.Expect("GPU-1");
  EXPECT_FALSE(spares.Take("GPU-1").has_value());
  EXPECT_EQ(started_, 0);
}

TEST_F(SpareWorkersTest, HasNoneForADeviceThatNobodyAskedFor) {
  SpareWorkers spares(2, kLongPatience, Starter(), Loser());
  EXPECT_FALSE(spares.Take("GPU-1").has_value());
  EXPECT_EQ(spares.waiting("GPU-2"), 0U);
}

TEST_F(SpareWorkersTest, GivesThoseThatWaitAndStartsOthers) {
  SpareWorkers spares(2, kLongPatience, Starter(), Loser());
  EXPECT_FALSE(spares.Take("GPU-1").has_value());
  ASSERT_TRUE(Comes([&] { return spares.waiting("GPU-1") == 2; }));
  const auto first = spares.Take("GPU-1");
  const auto second = spares.Take("GPU-1");
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->worker.process->pid(), second->worker.process->pid());
  ASSERT_TRUE(Comes([&] { return spares.waiting("GPU-1") == 2; }));
  EXPECT_EQ(started_, 4);
  EXPECT_EQ(unwanted_, 0);
}

TEST_F(SpareWorkersTest, ADeadOneIsGivenToNobody) {
  program_ = "/bin/true";
  SpareWorkers spares(1, kLongPatience, Starter(), Loser());
  (void)spares.Take("GPU-1");
  ASSERT_TRUE(Comes([&] { return spares.waiting("GPU-1") == 1; }));
  // One that has not ended yet may still be given.
  EXPECT_TRUE(Comes([&] {
    const bool given = spares.Take("GPU-1").has_value();
    return !given && died_ >= 1;
  }));
}

TEST_F(SpareWorkersTest, LetsThoseGoThatNobodyAsksForAnyMore) {
  SpareWorkers spares(1, milliseconds(50), Starter(), Loser());
  (void)spares.Take("GPU-1");
  ASSERT_TRUE(Comes([&] { return started_ >= 1 && unwanted_ == started_; }));
  EXPECT_EQ(spares.waiting("GPU-1"), 0U);
}

TEST_F(SpareWorkersTest, DoesNotTryAgainUntilSomebodyAsks) {
  cannot_start_ = true;
  SpareWorkers spares(2, kLongPatience, Starter(), Loser());
  EXPECT_FALSE(spares.Take("GPU-1").has_value());
  ASSERT_TRUE(Comes([&] { return refused_ == 1; }));
  cannot_start_ = false;
  EXPECT_FALSE(spares.Take("GPU-1").has_value());
  EXPECT_TRUE(Comes([&] { return spares.waiting("GPU-1") == 2; }));
  EXPECT_EQ(refused_, 1);
}

TEST_F(SpareWorkersTest, KillsThemInTheEnd) {
  {
    SpareWorkers spares(2, kLongPatience, Starter(), Loser());
    (void)spares.Take("GPU-1");
    ASSERT_TRUE(Comes([&] { return spares.waiting("GPU-1") == 2; }));
  }
  EXPECT_EQ(unwanted_, 2);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

}  // namespace
}  // namespace memplan
