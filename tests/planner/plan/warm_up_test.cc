#include "planner/plan/warm_up.h"

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "gtest/gtest.h"
#include "planner/plan/trial.h"
#include "tests/planner/plan/sample_trial.h"

namespace memplan {
namespace {

using ::memplan::testing::PeaksOf;
using ::memplan::testing::StepOf;

// A trial whose steps ask for these; the first takes a second, the second two …
Trial Asking(std::initializer_list<int64_t> requested) {
  Trial trial;
  for (const int64_t bytes : requested) {
    // What the allocator makes of it tells nothing of a warm-up.
    const auto number = static_cast<int64_t>(trial.steps.size()) + 1;
    trial.steps.push_back(StepOf(PeaksOf(bytes, 900 - number, 900, 1000)));
    trial.steps.back().seconds = static_cast<double>(number);
  }
  return trial;
}

WarmUp WarmUpAsking(std::initializer_list<int64_t> requested) {
  return WarmUpOf(Asking(requested)).value_or(WarmUp{.steps = -1});
}

TEST(WarmUpTest, EndsWithTheLastStepUnlikeTheSteadyOne) {
  EXPECT_EQ(WarmUpAsking({10, 30, 20, 20}), (WarmUp{.steps = 2,
                                                    .settled = true,
                                                    .first_seconds = 1,
                                                    .steady_seconds = 4}));
  // A step like the steady ones does not end it: more of the others follow.
  EXPECT_EQ(WarmUpAsking({20, 20, 20, 50, 20, 20}).steps, 4);
}

TEST(WarmUpTest, IsNoneWhereAllStepsAreAlike) {
  const WarmUp warm_up = WarmUpAsking({20, 20, 20});
  EXPECT_EQ(warm_up.steps, 0);
  EXPECT_TRUE(warm_up.settled);
}

TEST(WarmUpTest, IsNotOverWhereTheLastStepIsUnlikeTheOneBefore) {
  const WarmUp warm_up = WarmUpAsking({10, 30, 20});
  EXPECT_EQ(warm_up.steps, 2);
  EXPECT_FALSE(warm_up.settled);
  EXPECT_FALSE(WarmUpAsking({10}).settled);  // who knows?
}

TEST(WarmUpTest, IsOfTheStepsThatWereAskedForAlone) {
  Trial trial = Asking({30, 20, 20, 50});
  trial.steps.back().kind = StepKind::kEvaluation;
  const auto warm_up = WarmUpOf(trial);
  ASSERT_TRUE(warm_up.has_value());
  EXPECT_EQ(warm_up->steps, 1);
  EXPECT_TRUE(warm_up->settled);
  EXPECT_EQ(warm_up->steady_seconds, 3);
  EXPECT_EQ(WarmUpOf(Trial{}), std::nullopt);
}

}  // namespace
}  // namespace memplan
