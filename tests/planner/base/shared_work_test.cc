#include "planner/base/shared_work.h"

#include <cstddef>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace memplan {
namespace {

using ::testing::ElementsAre;

// Does the last piece first, as worker 1, and notes that it was asked.
class BackwardSharer : public WorkSharer {
 public:
  size_t most_workers() const override { return 2; }
  void Share(size_t count, size_t workers, PieceOfWork work) const override {
    asked_for = workers;
    while (count > 0) work(1, --count);
  }

  mutable size_t asked_for = 0;
};

TEST(SharedWorkTest, IsDoneInOrderByTheCallerIfNobodySharesIt) {
  std::vector<size_t> pieces;
  EXPECT_EQ(WorkersFor(nullptr, 3), 1u);
  ShareWork(nullptr, 3, 1, [&](size_t worker, size_t piece) {
    EXPECT_EQ(worker, 0u);
    pieces.push_back(piece);
  });
  EXPECT_THAT(pieces, ElementsAre(0, 1, 2));
}

TEST(SharedWorkTest, IsLeftToWhoeverSharesIt) {
  const BackwardSharer sharer;
  std::vector<size_t> pieces;
  ShareWork(&sharer, 3, WorkersFor(&sharer, 3),
            [&](size_t, size_t piece) { pieces.push_back(piece); });
  EXPECT_THAT(pieces, ElementsAre(2, 1, 0));
  EXPECT_EQ(sharer.asked_for, 2u);
}

TEST(SharedWorkTest, OnePieceHasOneWorker) {
  const BackwardSharer sharer;
  EXPECT_EQ(WorkersFor(&sharer, 1), 1u);
  EXPECT_EQ(WorkersFor(&sharer, 0), 1u);
}

}  // namespace
}  // namespace memplan
