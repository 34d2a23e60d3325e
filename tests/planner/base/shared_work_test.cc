#include "planner/base/shared_work.h"

#include <cstddef>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace memplan {
namespace {

using ::testing::Each;

TEST(ShareWorkTest, DoesEachPieceOnce) {
  for (const size_t workers : {1, 2, 3}) {
    std::vector<int> done(1000);  // each piece is of one worker
    ShareWork(done.size(), workers, [&](size_t, size_t i) { ++done[i]; });
    EXPECT_THAT(done, Each(1)) << workers;
  }
}

TEST(ShareWorkTest, LetsEachWorkerDoOnePieceAtATime) {
  std::vector<int> of_worker(kMostWorkers);  // not atomic
  ShareWork(1000, kMostWorkers,
            [&](size_t worker, size_t) { ++of_worker[worker]; });
  int all = 0;
  for (const int count : of_worker) all += count;
  EXPECT_EQ(all, 1000);
}

TEST(ShareWorkTest, HasNoMoreWorkersThanPieces) {
  EXPECT_EQ(WorkersFor(0), 1);
  EXPECT_EQ(WorkersFor(1), 1);
  EXPECT_LE(WorkersFor(1000), kMostWorkers);
}

TEST(ShareWorkTest, DoesNothingWithoutPieces) {
  ShareWork(0, 3, [](size_t, size_t) { ADD_FAILURE(); });
}

}  // namespace
}  // namespace memplan
