#include "server/base/thread_sharer.h"

#include <cstddef>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/base/shared_work.h"

namespace memplan {
namespace {

using ::testing::Each;

TEST(ThreadSharerTest, DoesEachPieceOnce) {
  for (const size_t workers : {1, 2, 3}) {
    std::vector<int> done(1000);  // each piece is of one worker
    ThreadSharer().Share(done.size(), workers,
                         [&](size_t, size_t i) { ++done[i]; });
    EXPECT_THAT(done, Each(1)) << workers;
  }
}

TEST(ThreadSharerTest, LetsEachWorkerDoOnePieceAtATime) {
  constexpr size_t kWorkers = 3;
  std::vector<int> of_worker(kWorkers);  // not atomic
  ThreadSharer().Share(1000, kWorkers,
                       [&](size_t worker, size_t) { ++of_worker[worker]; });
  int all = 0;
  for (const int count : of_worker) all += count;
  EXPECT_EQ(all, 1000);
}

TEST(ThreadSharerTest, DoesNothingWithoutPieces) {
  ThreadSharer().Share(0, 3, [](size_t, size_t) { ADD_FAILURE(); });
}

TEST(ThreadSharerTest, HasNoMoreWorkersThanPieces) {
  const ThreadSharer sharer;
  EXPECT_EQ(WorkersFor(&sharer, 0), 1u);
  EXPECT_EQ(WorkersFor(&sharer, 1), 1u);
  EXPECT_EQ(WorkersFor(&sharer, 1000), sharer.most_workers());
}

}  // namespace
}  // namespace memplan
