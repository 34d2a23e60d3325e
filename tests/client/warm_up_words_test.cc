#include "client/cli/warm_up_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <utility>

#include "tests/client/probes_for_tests.h"

namespace memplan {
namespace {

using ::memplan::testing::FoundProbe;
using ::testing::EndsWith;

// A probe whose trial 9 had steps that asked for so many MiB in so many
// milliseconds, the first `warm` of them to warm up.
v1::Probe Warming(int warm, bool settled,
                  std::initializer_list<std::pair<int64_t, int>> steps) {
  v1::Probe probe = FoundProbe();
  v1::Trial& trial = *probe.add_trials();
  trial.set_number(9);
  for (const auto& [mib, milliseconds] : steps) {
    v1::StepResult& step = *trial.add_steps();
    step.set_index(trial.steps_size() - 1);
    step.set_kind(v1::STEP_KIND_STEP);
    step.mutable_peaks()->set_requested_bytes(mib << 20);
    step.mutable_duration()->set_nanos(milliseconds * 1'000'000);
  }
  v1::WarmUp& warm_up = *probe.mutable_plan()->mutable_warm_up();
  warm_up.set_trial_number(9);
  warm_up.set_steps(warm);
  warm_up.set_settled(settled);
  *warm_up.mutable_first_step_duration() = trial.steps(0).duration();
  *warm_up.mutable_steady_step_duration() =
      trial.steps(trial.steps_size() - 1).duration();
  return probe;
}

TEST(WarmUpWordsTest, TellPeakAndTimeOfEachStepUntilTheSteadyOnes) {
  EXPECT_EQ(WarmUpWords(Warming(2, true, {{1, 644}, {3, 320}, {2, 5}, {2, 4}})),
            "2 steps (1: 1.00 MiB in 644 ms; 2: 3.00 MiB in 320 ms), then 2.00 "
            "MiB requested in 4 ms");
}

TEST(WarmUpWordsTest, TellNeighboursThatAreAlikeTogether) {
  EXPECT_EQ(WarmUpWords(Warming(
                4, true, {{1, 9}, {2, 4}, {2, 7}, {8, 900}, {2, 5}, {2, 4}})),
            "4 steps (1: 1.00 MiB in 9 ms; 2 to 3: 2.00 MiB in up to 7 ms; 4: "
            "8.00 MiB in 900 ms), then 2.00 MiB requested in 4 ms");
}

TEST(WarmUpWordsTest, TellTheTimesWhereMemoryIsTheSame) {
  EXPECT_EQ(
      WarmUpWords(Warming(0, true, {{2, 644}, {2, 4}})),
      "none: 2.00 MiB requested in every step; the first took 644 ms, the "
      "last 4 ms");
}

TEST(WarmUpWordsTest, SayThatMoreStepsWouldTell) {
  EXPECT_EQ(WarmUpWords(Warming(1, false, {{1, 644}, {3, 320}})),
            "not over after 2 steps (1: 1.00 MiB in 644 ms; 2: 3.00 MiB in 320 "
            "ms): run more with --steps");
  EXPECT_EQ(WarmUpWords(Warming(0, false, {{1, 644}})),
            "not known after one step: run more with --steps");
}

TEST(WarmUpWordsTest, EndSomewhere) {
  EXPECT_THAT(
      WarmUpWords(Warming(7, true,
                          {{1, 1},
                           {2, 1},
                           {3, 1},
                           {4, 1},
                           {5, 1},
                           {6, 1},
                           {7, 1},
                           {9, 1},
                           {9, 1}})),
      EndsWith("5: 5.00 MiB in 1 ms; and 2 more changes), then 9.00 MiB "
               "requested in 1 ms"));
}

TEST(WarmUpWordsTest, DoWithoutTheTrialsAndAreEmptyWhereNothingIsKnown) {
  v1::Probe probe = Warming(1, true, {{1, 644}, {2, 4}});
  probe.clear_trials();
  EXPECT_EQ(WarmUpWords(probe), "1 step, then steady steps in 4 ms");
  EXPECT_EQ(WarmUpWords(FoundProbe()), "");
}

}  // namespace
}  // namespace memplan
