#include "planner/plan/plan.h"

#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/base/bytes.h"
#include "planner/base/format.h"
#include "planner/plan/batch_search.h"
#include "planner/plan/trial.h"
#include "planner/plan/warm_up.h"
#include "tests/planner/plan/sample_trial.h"

namespace memplan {
namespace {

using ::memplan::testing::PeaksOf;
using ::memplan::testing::StepOf;
using ::memplan::testing::TrialOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kFits = TrialOutcome::kFits;
constexpr auto kOom = TrialOutcome::kOutOfMemory;

SearchAnswer Found(int64_t safe_batch, int verifying_trials = 1) {
  SearchAnswer answer;
  answer.end = SearchEnd::kFound;
  answer.safe_batch = safe_batch;
  answer.verifying_trials = verifying_trials;
  return answer;
}

Trial Ran(int64_t batch, TrialPurpose purpose, const Peaks& peaks) {
  Trial trial = TrialOf(batch, kFits, purpose);
  trial.steps = {StepOf(PeaksOf(1, 1, 1, 1)), StepOf(peaks)};
  return trial;
}

Quantity Of(int64_t bytes, Provenance provenance, int trial_number) {
  return {.bytes = Bytes(bytes),
          .provenance = provenance,
          .trial_number = trial_number};
}

TEST(MakePlanTest, TakesEachNumberFromTheTrialThatShowedMost) {
  std::vector<Trial> trials = {
      Ran(6, TrialPurpose::kSearch, PeaksOf(100, 200, 300, 400)),
      Ran(7, TrialPurpose::kSearch, PeaksOf(10, 26, 30, 40)),
      Ran(7, TrialPurpose::kVerify, PeaksOf(10, 25, 30, 41)),
  };
  trials[1].context = Bytes(8);
  trials[2].context = Bytes(7);
  const Plan plan = MakePlan(Found(7), trials);
  EXPECT_EQ(plan.peak_requested, Of(10, Provenance::kVerified, 3));
  EXPECT_EQ(plan.peak_allocated, Of(26, Provenance::kMeasured, 2));
  EXPECT_EQ(plan.peak_active, Of(30, Provenance::kVerified, 3));
  EXPECT_EQ(plan.peak_reserved, Of(41, Provenance::kVerified, 3));
  EXPECT_EQ(plan.context, Of(8, Provenance::kMeasured, 2));
  EXPECT_EQ(plan.fragmentation, Of(16, Provenance::kVerified, 3));
  EXPECT_DOUBLE_EQ(plan.fragmentation_ratio.value(), 16.0 / 41.0);
  EXPECT_EQ(plan.peak_step, 1);
  EXPECT_TRUE(plan.verified);
}

TEST(MakePlanTest, TellsTheSteadyStepFromTheWorst) {
  std::vector<Trial> trials = {
      Ran(7, TrialPurpose::kVerify, PeaksOf(10, 26, 30, 40))};
  trials[0].steps.push_back(StepOf(PeaksOf(8, 20, 22, 40)));
  StepResult evaluation = StepOf(PeaksOf(9, 25, 25, 41));
  evaluation.kind = StepKind::kEvaluation;
  trials[0].steps.push_back(evaluation);
  const Plan plan = MakePlan(Found(7), trials);
  EXPECT_EQ(plan.peak_allocated, Of(26, Provenance::kVerified, 1));
  EXPECT_EQ(plan.steady_peak_allocated, Of(20, Provenance::kVerified, 1));
  EXPECT_EQ(plan.peak_reserved, Of(41, Provenance::kVerified, 1));
  EXPECT_EQ(plan.steady_peak_reserved, Of(40, Provenance::kVerified, 1));
  EXPECT_EQ(plan.peak_step, 3);
}

TEST(MakePlanTest, TellsTheWarmUpOfTheTrialWithTheSteadyPeak) {
  // Asked for 1, 10 and 8 bytes; the repeat, whose last step takes less, for 1
  // and 8.
  std::vector<Trial> trials = {
      Ran(7, TrialPurpose::kSearch, PeaksOf(10, 26, 30, 40)),
      Ran(7, TrialPurpose::kVerify, PeaksOf(8, 19, 22, 40))};
  trials[0].steps.push_back(StepOf(PeaksOf(8, 20, 22, 40)));
  EXPECT_EQ(MakePlan(Found(7), trials).warm_up,
            (WarmUp{.steps = 2, .trial_number = 1}));
}

TEST(MakePlanTest, NamesWhoMadeThePeakOfTheAnswer) {
  Trial small = Ran(8, TrialPurpose::kRecord, PeaksOf(9, 9, 9, 9));
  small.peak_request = {Bytes(9), "step0/forward", "aten::conv2d", ""};
  Trial answer = Ran(20, TrialPurpose::kVerify, PeaksOf(20, 20, 20, 20));
  answer.peak_request = {Bytes(20), "step1/backward", "aten::mm", ""};
  const Plan plan = MakePlan(Found(20), std::vector<Trial>{small, answer});
  EXPECT_EQ(plan.peak_request, answer.peak_request);
  EXPECT_FALSE(plan.contents_dependence);
}

// The run itself leaves the interval zero wide, but was of its own contents.
TEST(MakePlanTest, WidensTheIntervalByWhatDependsOnContents) {
  Trial answer = Ran(20, TrialPurpose::kVerify, PeaksOf(20, 20, 20, 24));
  answer.contents_dependence = {{"aten::nonzero"}, Bytes(5)};
  PredictedAnswer predicted;
  predicted.safe_interval = {{Bytes(20), Bytes(20)}, {Bytes(24), Bytes(24)}};
  const Plan plan = MakePlan(Found(20), std::vector<Trial>{answer}, predicted);
  EXPECT_EQ(plan.contents_dependence, answer.contents_dependence);
  EXPECT_EQ(plan.predicted->safe_interval,
            (PeakInterval{{Bytes(20), Bytes(25)}, {Bytes(24), Bytes(29)}}));
}

TEST(MakePlanTest, LeavesReservedUnsetWhereThereIsNone) {
  std::vector<Trial> trials = {TrialOf(7, kFits)};
  trials[0].load_peaks = PeaksOf(5, 5, 5);
  trials[0].steps = {StepOf(PeaksOf(4, 4, 4))};
  const Plan plan = MakePlan(Found(7), trials);
  EXPECT_EQ(plan.peak_allocated, Of(5, Provenance::kMeasured, 1));
  EXPECT_EQ(plan.peak_reserved, std::nullopt);
  EXPECT_EQ(plan.context, std::nullopt);
  EXPECT_EQ(plan.fragmentation, std::nullopt);
  EXPECT_EQ(plan.fragmentation_ratio, std::nullopt);
  EXPECT_EQ(plan.peak_step, -1);
}

TEST(MakePlanTest, PassesOverTrialsOfTheAnswerThatDidNotRun) {
  std::vector<Trial> trials = {
      Ran(7, TrialPurpose::kSearch, PeaksOf(1, 1, 1, 99)),
      Ran(7, TrialPurpose::kSearch, PeaksOf(1, 1, 1, 40))};
  trials[0].outcome = TrialOutcome::kWorkerDied;
  EXPECT_EQ(MakePlan(Found(7), trials).peak_reserved,
            Of(40, Provenance::kMeasured, 2));
}

TEST(MakePlanTest, IsVerifiedOnlyByARunAfterTheFirst) {
  const std::vector<Trial> trials = {TrialOf(7, kFits)};
  EXPECT_FALSE(MakePlan(Found(7, /*verifying_trials=*/0), trials).verified);
}

TEST(MakePlanTest, NamesTheNeighboursThatWereRun) {
  const std::vector<Trial> trials = {
      TrialOf(8, kFits),  TrialOf(12, kOom),
      TrialOf(10, kFits), TrialOf(11, TrialOutcome::kWorkerDied),
      TrialOf(11, kOom),  TrialOf(9, TrialOutcome::kWorkerDied),
      TrialOf(9, kFits),  TrialOf(10, kFits, TrialPurpose::kVerify),
      TrialOf(13, kOom),
  };
  EXPECT_THAT(MakePlan(Found(10), trials).neighbours,
              ElementsAre(Neighbour{8, kFits, 1}, Neighbour{9, kFits, 7},
                          Neighbour{11, kOom, 5}, Neighbour{12, kOom, 2}));
}

TEST(MakePlanTest, CountsTrialsOutOfMemoryAndSeconds) {
  std::vector<Trial> trials = {TrialOf(8, kOom), TrialOf(1, kOom)};
  trials[0].seconds = 1.5;
  trials[1].seconds = 0.25;
  SearchAnswer answer;
  answer.end = SearchEnd::kDoesNotFit;
  const Plan plan = MakePlan(answer, trials);
  EXPECT_EQ(plan.answer, answer);
  EXPECT_EQ(plan.trial_count, 2);
  EXPECT_EQ(plan.out_of_memory_count, 2);
  EXPECT_DOUBLE_EQ(plan.seconds, 1.75);
}

TEST(MakePlanTest, HasNoNumbersWithoutASafeBatch) {
  const std::vector<Trial> trials = {TrialOf(1, kOom)};
  SearchAnswer answer;
  answer.end = SearchEnd::kDoesNotFit;
  const Plan plan = MakePlan(answer, trials);
  EXPECT_FALSE(plan.verified);
  EXPECT_EQ(plan.peak_requested, std::nullopt);
  EXPECT_EQ(plan.peak_step, -1);
  EXPECT_THAT(plan.neighbours, IsEmpty());
}

}  // namespace
}  // namespace memplan
