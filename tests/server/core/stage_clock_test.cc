#include "server/jobs/stage_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/core/fast_execution_fixture.h"
#include "tests/server/core/stage_lines.h"

namespace memplan {
namespace {

using ::memplan::testing::StageLines;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Key;
using ::testing::Pair;

TEST(StageClockTest, IsInOneStageAtEachMoment) {
  const StageLines lines;
  std::chrono::steady_clock::time_point now;
  {
    StageClock clock([&now] { return now; }, "begin");
    now += seconds(1);
    clock.Enter("planner");
    now += seconds(2);
    clock.Enter("planner");
    now += seconds(3);
    clock.Enter("end");
    now += seconds(4);
  }
  EXPECT_THAT(lines.stages(), ElementsAre(Pair("begin", 1), Pair("planner", 5),
                                          Pair("end", 4)));
  EXPECT_THAT(lines.sums(), ElementsAre(Pair("3", 10)));
}

class StagesOfASearchTest : public ::memplan::testing::FastExecutionFixture {};

// A second goes by each time that somebody looks at the clock.
TEST_F(StagesOfASearchTest, CoverItFromEndToEnd) {
  const StageLines lines;
  Make([this](const TrialOrder& order) { return RunProgram(order); });
  runner_->set_progress({{"load", 0}, {"step", 0}, {"report", kSteps}});
  ExecutionTools tools = Tools();
  std::chrono::steady_clock::time_point now;
  tools.now = [&now] { return now += seconds(1); };
  const ProbeEnding ending = ExecuteProbe(spec_, tools);
  ASSERT_TRUE(ending.plan);
  double sum = 0;
  for (const auto& stage : lines.stages()) sum += stage.second;
  ASSERT_EQ(lines.sums().size(), 1u);
  EXPECT_EQ(lines.sums()[0].second, sum);
  // The clock was looked at once before, for the probe's time limit.
  EXPECT_GE(sum,
            std::chrono::duration<double>(now.time_since_epoch()).count() - 2);
  for (const char* stage :
       {"begin", "planner", "start of workers", "batch 8: start",
        "batch 8: load", "batch 8: step", "batch 8: report", "batch 8: keep",
        "batch 8: read trace", "batch 32: step", "operators of batch 58",
        "operators of batch 59", "change of workers", "batch 58: step",
        "end"}) {
    EXPECT_THAT(lines.stages(), Contains(Key(stage)));
  }
}

}  // namespace
}  // namespace memplan
