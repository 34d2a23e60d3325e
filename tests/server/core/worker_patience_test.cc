#include "server/jobs/worker_patience.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace memplan {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

TEST(WorkerPatienceTest, CountsTheDeathsAtTheEnd) {
  std::vector<Trial> trials(4);
  EXPECT_EQ(DeathsInARow(trials), 0);
  trials[0].outcome = TrialOutcome::kWorkerDied;
  trials[2].outcome = TrialOutcome::kWorkerDied;
  trials[3].outcome = TrialOutcome::kWorkerDied;
  EXPECT_EQ(DeathsInARow(trials), 2);
}

TEST(WorkerPatienceTest, DoublesThePauseUpToTheLongest) {
  const WorkerPatience patience = {.first_pause = milliseconds(100),
                                   .longest_pause = milliseconds(500)};
  EXPECT_EQ(PauseAfter(0, patience), milliseconds(0));
  EXPECT_EQ(PauseAfter(1, patience), milliseconds(100));
  EXPECT_EQ(PauseAfter(2, patience), milliseconds(200));
  EXPECT_EQ(PauseAfter(3, patience), milliseconds(400));
  EXPECT_EQ(PauseAfter(4, patience), milliseconds(500));
  EXPECT_EQ(PauseAfter(1000, patience), milliseconds(500));
}

class WorkerStartsTest : public ::testing::Test {
 protected:
  WorkerStarts starts_{
      WorkerPatience{.most_failed_starts = 2, .rest = seconds(30)}};
  const WorkerStarts::SteadyTime now_{seconds(1000)};
};

TEST_F(WorkerStartsTest, RestsAfterTooManyInARow) {
  starts_.Failed("the first", now_);
  EXPECT_FALSE(starts_.WhyResting(now_));
  starts_.Failed("no such file", now_);
  const auto why = starts_.WhyResting(now_ + seconds(29));
  ASSERT_TRUE(why);
  EXPECT_THAT(*why, HasSubstr("2 workers in a row"));
  EXPECT_THAT(*why, HasSubstr("no such file"));
}

TEST_F(WorkerStartsTest, LetsOneTryAfterTheRestAndRestsAgain) {
  starts_.Failed("", now_);
  starts_.Failed("", now_);
  EXPECT_FALSE(starts_.WhyResting(now_ + seconds(30)));
  starts_.Failed("", now_ + seconds(31));
  EXPECT_TRUE(starts_.WhyResting(now_ + seconds(32)));
}

TEST_F(WorkerStartsTest, ForgetsAllAtASuccess) {
  starts_.Failed("", now_);
  starts_.Failed("", now_);
  starts_.Succeeded();
  EXPECT_FALSE(starts_.WhyResting(now_));
  starts_.Failed("", now_);
  EXPECT_FALSE(starts_.WhyResting(now_));
}

}  // namespace
}  // namespace memplan
