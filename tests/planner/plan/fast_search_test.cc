#include "planner/plan/fast_search.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/base/shared_work.h"
#include "tests/planner/plan/fast_search_run.h"
#include "tests/planner/plan/sample_trial.h"
#include "tests/planner/plan/simulated_program.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::CappedDevice;
using ::memplan::testing::Ended;
using ::memplan::testing::FastRun;
using ::memplan::testing::RunFastSearch;
using ::memplan::testing::ScratchKind;
using ::memplan::testing::SimulatedProgram;
using ::memplan::testing::StatusIs;
using ::memplan::testing::TrialFate;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr auto kOom = TrialOutcome::kOutOfMemory;

// 80 MiB of weights, as much of gradients and of states. Of its two layers one
// is a convolution, with scratch of 8 MiB a sample below 64 and 16 MiB from there
// on.
SimulatedProgram ConvolutionProgram() {
  return SimulatedProgram(
      {{.weight_bytes = 40 * kMiB,
        .output_bytes = 4 * kMiB,
        .is_convolution = true,
        .forward = {ScratchKind::kVanishes, 8 * kMiB, 64},
        .backward = {ScratchKind::kAppears, 16 * kMiB, 64}},
       {.weight_bytes = 40 * kMiB, .output_bytes = 2 * kMiB}});
}

// Activations of 12 MiB a sample and nothing irregular.
SimulatedProgram PlainProgram() {
  return SimulatedProgram(
      {{.weight_bytes = 40 * kMiB, .output_bytes = 12 * kMiB}});
}

// Batches up to `limit` run, whatever the program takes.
TrialFate LimitOf(int64_t limit) {
  return [limit](int64_t batch, TrialPurpose, int) -> std::optional<Trial> {
    Trial trial;
    if (batch > limit) {
      trial.outcome = kOom;
      trial.steps.emplace_back().failed_requests = 1;
    }
    return trial;
  };
}

// Does the pieces from the last to the first, by two workers in turn.
class BackwardSharer : public WorkSharer {
 public:
  size_t most_workers() const override { return 2; }
  void Share(size_t count, size_t /*workers*/,
             PieceOfWork work) const override {
    ++times_asked;
    for (size_t piece = count; piece-- > 0;) work(piece % 2, piece);
  }

  mutable int times_asked = 0;
};

TEST(FastSearchTest, SaysTheSameWhereWorkIsShared) {
  const SimulatedProgram program = ConvolutionProgram();
  const CappedDevice device(program, GiB(10));
  const FastRun alone = RunFastSearch({}, device);
  const BackwardSharer sharer;
  FastSearchOptions options;
  options.sharer = &sharer;
  const FastRun shared = RunFastSearch(options, device);
  EXPECT_GT(sharer.times_asked, 0);
  EXPECT_EQ(shared.Batches(), alone.Batches());
  EXPECT_EQ(shared.answer.safe_batch, alone.answer.safe_batch);
  ASSERT_TRUE(alone.predicted && shared.predicted);
  EXPECT_EQ(shared.predicted->safe.outcome.peaks,
            alone.predicted->safe.outcome.peaks);
  EXPECT_EQ(shared.predicted->checked_from, alone.predicted->checked_from);
  EXPECT_EQ(shared.predicted->comfortable.batch,
            alone.predicted->comfortable.batch);
  EXPECT_EQ(shared.predicted->replays, alone.predicted->replays);
}

TEST(FastSearchTest, TakesThreeRunsWhateverTheAnswer) {
  const SimulatedProgram program = PlainProgram();
  for (const int64_t gib : {2, 10, 100}) {
    const CappedDevice device(program, GiB(gib));
    const FastRun run = RunFastSearch({}, device);
    EXPECT_EQ(run.answer.end, SearchEnd::kFound);
    const int64_t right = device.SafeBatch(100000);
    EXPECT_EQ(run.answer.safe_batch, right) << gib;
    EXPECT_THAT(run.Batches(), ElementsAre(8, 32, right));
    EXPECT_EQ(run.OutOfMemoryCount(), 0);
    EXPECT_EQ(run.trials[0].purpose, TrialPurpose::kRecord);
    EXPECT_EQ(run.trials[2].purpose, TrialPurpose::kVerify);
  }
}

std::optional<int64_t> SecondOf(int64_t first, int64_t most) {
  FastSearchOptions options;
  options.search.first_batch = first;
  options.search.max_batch = most;
  return FastSearch(options).SecondRecording();
}

TEST(FastSearchTest, ForeseesItsSecondRecording) {
  EXPECT_EQ(SecondOf(8, 65536), 32);
  EXPECT_EQ(SecondOf(24, 65536), 48);
  EXPECT_EQ(SecondOf(8, 20), 20);
  EXPECT_EQ(SecondOf(8, 8), 8);  // after 5
  EXPECT_EQ(SecondOf(8, 1), std::nullopt);
}

TEST(FastSearchTest, ForeseesNothingOnceARecordingIsKnown) {
  FastSearch search({});
  Trial failed;
  failed.batch = 8;
  failed.outcome = TrialOutcome::kOutOfMemory;
  search.AddRecording(failed, std::nullopt);
  EXPECT_EQ(search.SecondRecording(), std::nullopt);
  FastSearch known({});
  known.AddKnownTrace(8, PlainProgram().TraceAt(8));
  EXPECT_EQ(known.SecondRecording(), std::nullopt);
}

// Weights, their gradients and states take 120 MiB, a sample 24. The first step's
// gradients and states are cut out of a free segment of 12 MiB a sample, so that
// three such are held, besides the weights': 3 · 12 · 283 + 40 MiB, and 12 more
// under the cap.
TEST(FastSearchTest, NamesAnIntervalThatTheRunMakesAPoint) {
  const SimulatedProgram program = PlainProgram();
  const FastRun run = RunFastSearch({}, CappedDevice(program, GiB(10)));
  const Bytes allocated = MiB(120 + 24 * 283);
  const Bytes reserved = MiB(40 + 36 * 283);
  ASSERT_EQ(run.foretold.size(), 1);
  // 0.1 % and 0.25 %.
  const Bytes more(7247757);
  const Bytes more_reserved(26812088);
  EXPECT_EQ(run.foretold[0].safe_interval,
            (PeakInterval{{allocated - more, allocated + more},
                          {reserved - more_reserved, GiB(10)}}));
  ASSERT_TRUE(run.predicted.has_value());
  EXPECT_EQ(run.predicted->safe_interval,
            (PeakInterval{{allocated, allocated}, {reserved, reserved}}));
}

TEST(FastSearchTest, LearnsFromCallsWhatNoRecordingTells) {
  const SimulatedProgram program = ConvolutionProgram();
  const CappedDevice device(program, GiB(4));
  const FastRun run = RunFastSearch({}, device);
  const int64_t right = device.SafeBatch(1000);
  EXPECT_GT(right, 64);  // where scratch is other than at 8 and 32
  EXPECT_EQ(run.answer.safe_batch, right);
  EXPECT_THAT(run.Batches(), ElementsAre(8, 32, right));
  // Both directions of the one convolution, at the answers and one above.
  ASSERT_GE(run.call_batches.size(), 2);
  EXPECT_EQ(run.call_batches.back(), right + 1);
  ASSERT_TRUE(run.predicted.has_value());
  EXPECT_EQ(run.predicted->safe.batch, right);
  EXPECT_EQ(run.predicted->safe.knowledge, CallKnowledge::kRecorded);
  EXPECT_EQ(run.predicted->failing.batch, right + 1);
  EXPECT_EQ(run.predicted->failing.knowledge, CallKnowledge::kRun);
  EXPECT_FALSE(run.predicted->failing.outcome.Runs());
  EXPECT_THAT(run.predicted->recorded_batches, ElementsAre(8, 32, right));
}

TEST(FastSearchTest, GoesOnWithoutCallsThatCannotBeRun) {
  class Faulty final : public testing::DeviceProgram {
   public:
    Trace TraceAt(int64_t batch) const override {
      return program_.TraceAt(batch);
    }
    CallPlansOrNone RunCall(const DistinctCall&) const override { return {}; }

   private:
    SimulatedProgram program_ = ConvolutionProgram();
  };
  const Faulty program;
  const CappedDevice device(program, GiB(4));
  const FastRun run = RunFastSearch({}, device);
  EXPECT_EQ(run.answer.safe_batch, device.SafeBatch(1000));
}

TEST(FastSearchTest, HonoursTheLargestBatchAndRunsIt) {
  const SimulatedProgram program = PlainProgram();
  const CappedDevice device(program, GiB(10));
  const auto batches = [&](int64_t max_batch) {
    FastSearchOptions options;
    options.search.max_batch = max_batch;
    const FastRun run = RunFastSearch(options, device);
    EXPECT_EQ(run.answer.safe_batch, max_batch);
    EXPECT_EQ(run.answer.limit, SearchLimit::kMaxBatch);
    return run.Batches();
  };
  EXPECT_THAT(batches(100), ElementsAre(8, 32, 100));
  EXPECT_THAT(batches(32), ElementsAre(8, 32, 32));
  EXPECT_THAT(batches(20), ElementsAre(8, 20, 20));
  EXPECT_THAT(batches(8), ElementsAre(5, 8, 8));
  EXPECT_THAT(batches(2), ElementsAre(1, 2, 2));
  EXPECT_THAT(batches(1), ElementsAre(1, 1));  // nothing to predict
}

// Caps that put the limit at each of 1 to 40: what is recorded adapts.
TEST(FastSearchTest, FindsSmallAndOddLimits) {
  const SimulatedProgram program = PlainProgram();
  int64_t limit = 1;
  for (int64_t mib = 120; limit <= 40; mib += 4) {
    const CappedDevice device(program, MiB(mib));
    if (device.SafeBatch(100) < limit) continue;
    limit = device.SafeBatch(100);
    const FastRun run = RunFastSearch({}, device);
    EXPECT_EQ(run.answer.end, SearchEnd::kFound);
    EXPECT_EQ(run.answer.safe_batch, limit);
    if (limit > 2) {
      EXPECT_LE(run.trials.size(), 5) << limit;
      EXPECT_EQ(run.fell_back, "") << limit;
    }
    EXPECT_LE(run.OutOfMemoryCount(), limit < 8 ? 3 : 0) << limit;
    ++limit;
  }
}

TEST(FastSearchTest, SaysAfterTwoTrialsThatNothingFits) {
  const SimulatedProgram program = PlainProgram();
  const FastRun run = RunFastSearch({}, CappedDevice(program, MiB(130)));
  EXPECT_EQ(run.answer.end, SearchEnd::kDoesNotFit);
  EXPECT_THAT(run.Batches(), ElementsAre(8, 1));
}

TEST(FastSearchTest, SaysAfterOneTrialThatTheModelDoesNotLoad) {
  const SimulatedProgram program = PlainProgram();
  const auto fate = [](int64_t, TrialPurpose, int) {
    Trial trial = Ended(kOom, "the weights do not fit");
    trial.failed_while_loading = true;
    return std::optional<Trial>(trial);
  };
  const FastRun run = RunFastSearch({}, CappedDevice(program, MiB(30)), fate);
  EXPECT_EQ(run.answer.end, SearchEnd::kDoesNotFit);
  EXPECT_EQ(run.trials.size(), 1);
}

// A model with its batch baked in ends as it does in a search by bisection.
TEST(FastSearchTest, FindsAFixedBatch) {
  const SimulatedProgram program = PlainProgram();
  const CappedDevice device(program, GiB(10));
  for (const int64_t baked : {4, 8}) {
    const auto fate = [baked](int64_t batch, TrialPurpose,
                              int) -> std::optional<Trial> {
      Trial trial;
      if (batch != baked) trial = Ended(TrialOutcome::kShapeRefused, "sizes");
      trial.traced_batch = baked;
      return trial;
    };
    const FastRun run = RunFastSearch({}, device, fate);
    EXPECT_EQ(run.answer.end, SearchEnd::kFixedBatch);
    EXPECT_EQ(run.answer.safe_batch, baked);
    EXPECT_LE(run.trials.size(), 3);
  }
}

TEST(FastSearchTest, EndsAsBisectionDoesWhereTheModelFails) {
  const SimulatedProgram program = PlainProgram();
  const CappedDevice device(program, GiB(10));
  const auto fails = [](int64_t batch, TrialPurpose,
                        int) -> std::optional<Trial> {
    return batch > 20 ? Ended(TrialOutcome::kModelFailed, "index") : Trial();
  };
  const FastRun run = RunFastSearch({}, device, fails);
  EXPECT_THAT(run.fell_back, HasSubstr("another reason than memory"));
  EXPECT_EQ(run.answer.safe_batch, 20);
  EXPECT_EQ(run.answer.limit, SearchLimit::kOtherFailure);
}

TEST(FastSearchTest, GivesAWorkerThatDiedAnotherTry) {
  const SimulatedProgram program = PlainProgram();
  const CappedDevice device(program, GiB(10));
  const int64_t right = device.SafeBatch(1000);
  const auto dies_at = [](int64_t doomed) -> TrialFate {
    return
        [doomed](int64_t batch, TrialPurpose, int nth) -> std::optional<Trial> {
          if (batch != doomed || nth > 0) return std::nullopt;
          return Ended(TrialOutcome::kWorkerDied);
        };
  };
  EXPECT_THAT(RunFastSearch({}, device, dies_at(8)).Batches(),
              ElementsAre(8, 8, 32, right));
  EXPECT_THAT(RunFastSearch({}, device, dies_at(right)).Batches(),
              ElementsAre(8, 32, right, right));
}

// Memory that the traces know nothing of: the answer still is one that ran.
TEST(FastSearchTest, BisectsWherePredictionsDoNotHold) {
  const SimulatedProgram program = PlainProgram();
  const CappedDevice device(program, GiB(10));
  const FastRun run = RunFastSearch({}, device, LimitOf(100));
  EXPECT_NE(run.fell_back, "");
  EXPECT_EQ(run.answer.end, SearchEnd::kFound);
  EXPECT_EQ(run.answer.safe_batch, 100);
}

// From batch 64 on a sample takes a little less than smaller batches foretell.
class EasierProgram final : public testing::DeviceProgram {
 public:
  Trace TraceAt(int64_t batch) const override {
    return (batch < 64 ? below_ : above_).TraceAt(batch);
  }
  CallPlansOrNone RunCall(const DistinctCall&) const override { return {}; }

 private:
  SimulatedProgram below_ = PlainProgram();
  SimulatedProgram above_{
      {{.weight_bytes = 40 * kMiB, .output_bytes = 12 * kMiB - 3 * kMiB / 32}}};
};

// The trace of the answer speaks for two more, of which the device refuses one
// or both.
TEST(FastSearchTest, ClosesTheGapBetweenARunAndAFailure) {
  const EasierProgram program;
  const SimulatedProgram plain = PlainProgram();
  const int64_t first = CappedDevice(plain, GiB(10)).SafeBatch(1000);
  const CappedDevice device(program, GiB(10));
  ASSERT_EQ(device.SafeBatch(1000), first + 2);
  for (const int64_t limit : {first, first + 1}) {
    const FastRun run = RunFastSearch({}, device, LimitOf(limit));
    EXPECT_EQ(run.fell_back, "");
    EXPECT_THAT(run.Batches(), ElementsAre(8, 32, first, first + 2, first + 1));
    EXPECT_EQ(run.answer.safe_batch, limit);
  }
}

// Predictions stay above what the device allows: ResNet-50 AdamW bf16 ended
// between 941 and 944.
TEST(FastSearchTest, ClosesASmallGapBeyondItsTrials) {
  const SimulatedProgram program = PlainProgram();
  const CappedDevice device(program, GiB(40));
  const int64_t n = device.SafeBatch(2000);
  ASSERT_EQ(n / 256, 4);
  const FastRun run = RunFastSearch({}, device, LimitOf(n - 3));
  EXPECT_EQ(run.fell_back, "");
  EXPECT_THAT(run.Batches(), ElementsAre(8, 32, n, n - 4, n - 2, n - 3));
  EXPECT_EQ(run.answer.safe_batch, n - 3);
  // What is told beside the answer is not above it, though predictions were.
  ASSERT_TRUE(run.predicted.has_value());
  EXPECT_EQ(run.predicted->safe.batch, n - 3);
  EXPECT_LE(run.predicted->comfortable.batch, n - 3);
}

// Its convolution has two plans that its call alone shows, and at one batch a
// third that needs less.
class FrugalProgram final : public testing::DeviceProgram {
 public:
  void BeFrugalAt(int64_t batch) { frugal_at_ = batch; }

  Trace TraceAt(int64_t batch) const override {
    return (batch == frugal_at_ ? frugal_ : program_).TraceAt(batch);
  }
  CallPlansOrNone RunCall(const DistinctCall& call) const override {
    CallPlansOrNone plans = program_.RunCall(call);
    CallPlan other = plans.front();
    // The last that is asked for is scratch, where it is freed.
    if (other.back().bytes == 0) {
      other[other.size() - 2].bytes -= 512;
      plans.push_back(other);
    }
    return plans;
  }

 private:
  int64_t frugal_at_ = 0;
  SimulatedProgram program_ = ConvolutionProgram();
  SimulatedProgram frugal_ =
      SimulatedProgram({{.weight_bytes = 40 * kMiB,
                         .output_bytes = 4 * kMiB,
                         .is_convolution = true,
                         .backward = {ScratchKind::kAppears, 15 * kMiB, 64}},
                        {.weight_bytes = 40 * kMiB, .output_bytes = 2 * kMiB}});
};

// ResNet-50 SGD under 40 GiB on the H200: 487 ran though all known plans were
// refused.
TEST(FastSearchTest, RunsTheBatchAboveIfItLacksScratchAlone) {
  FrugalProgram program;
  const CappedDevice as_told(program, GiB(4));
  const int64_t right = as_told.SafeBatch(1000);
  const FastRun refused = RunFastSearch({}, as_told);
  EXPECT_EQ(refused.answer.safe_batch, right);
  ASSERT_TRUE(refused.predicted.has_value());
  EXPECT_TRUE(refused.predicted->failing.outcome.ended_in_scratch);
  EXPECT_EQ(refused.predicted->failing.outcome.refused_plans, 2);
  EXPECT_THAT(refused.Batches(), ElementsAre(8, 32, right, right + 1));

  program.BeFrugalAt(right + 1);
  const FastRun ran = RunFastSearch({}, CappedDevice(program, GiB(4)));
  EXPECT_EQ(ran.answer.safe_batch, right + 1);
  EXPECT_EQ(ran.fell_back, "");
  EXPECT_EQ(ran.Batches().at(3), right + 1);
}

TEST(FastSearchTest, RunsTheAnswerAsOftenAsAsked) {
  const SimulatedProgram program = PlainProgram();
  const CappedDevice device(program, GiB(4));
  const int64_t right = device.SafeBatch(1000);
  FastSearchOptions options;
  options.search.repeat = 3;
  const FastRun run = RunFastSearch(options, device);
  EXPECT_THAT(run.Batches(), ElementsAre(8, 32, right, right, right));
  EXPECT_EQ(run.answer.verifying_trials, 3);
}

TEST(FastSearchTest, LearnsItsCapFromTheFirstRecording) {
  const SimulatedProgram program = PlainProgram();
  const CappedDevice device(program, GiB(4));
  FastSearchOptions options;
  options.conditions.cap = GiB(5);  // the budget; the context takes 1 GiB
  FastSearch search(options);
  EXPECT_EQ(search.Next(), FastDecision(RecordBatch{8}));
  Trial trial;
  trial.batch = 8;
  search.AddRecording(trial, program.TraceAt(8));
  search.SetCap(GiB(4));
  const FastRun run = RunFastSearch(search, options, device);
  EXPECT_EQ(run.answer.safe_batch, device.SafeBatch(1000));
  EXPECT_EQ(run.trials.size(), 3);
}

// It ran under the whole budget and is above the cap: its trace counts, not its
// end.
TEST(FastSearchTest, UsesARecordingThatProvedToBeAboveTheBudget) {
  const SimulatedProgram program = PlainProgram();
  const CappedDevice device(program, MiB(120 + 24 * 6));
  FastSearchOptions options;
  FastSearch search(options);
  search.Next();
  Trial trial = Ended(kOom, "above the budget");
  trial.batch = 8;
  search.AddRecording(trial, program.TraceAt(8));
  search.SetCap(device.cap());
  const FastRun run = RunFastSearch(search, options, device);
  EXPECT_LT(device.SafeBatch(100), 8);
  EXPECT_EQ(run.answer.safe_batch, device.SafeBatch(100));
  EXPECT_EQ(run.OutOfMemoryCount(), 1);  // that one
}

TEST(FastSearchTest, TakesOneRunForAProgramThatIsKnown) {
  const SimulatedProgram program = PlainProgram();
  const CappedDevice device(program, GiB(6));
  FastSearchOptions options;
  options.conditions.cap = device.cap();
  FastSearch search(options);
  search.AddKnownTrace(8, program.TraceAt(8));
  search.AddKnownTrace(32, program.TraceAt(32));
  const FastRun run = RunFastSearch(search, options, device);
  EXPECT_THAT(run.Batches(), ElementsAre(device.SafeBatch(1000)));
}

// It may be of another cap.
TEST(FastSearchTest, LeavesAMarginAtABatchThatWasRecordedBefore) {
  const SimulatedProgram program = PlainProgram();
  const CappedDevice device(program, GiB(6));
  FastSearchOptions options;
  options.conditions.cap = device.cap();
  options.search.max_batch = 32;
  FastSearch search(options);
  search.AddKnownTrace(8, program.TraceAt(8));
  search.AddKnownTrace(32, program.TraceAt(32));
  const FastRun run = RunFastSearch(search, options, device);
  const Bytes peak = MiB(120 + 24 * 32);
  const Bytes more(931135);  // 0.1 %
  ASSERT_EQ(run.foretold.size(), 1);
  EXPECT_EQ(run.foretold[0].safe_interval.value().allocated,
            (PeakRange{peak - more, peak + more}));
  EXPECT_EQ(run.predicted.value().safe_interval.value().allocated,
            (PeakRange{peak, peak}));
}

TEST(FastSearchTest, FallsBackWithoutATrace) {
  const SimulatedProgram program = PlainProgram();
  const auto overflows = [](int64_t, TrialPurpose, int) {
    Trial trial;
    trial.trace_overflowed = true;
    return std::optional<Trial>(trial);
  };
  FastSearchOptions options;
  options.search.max_batch = 16;
  const FastRun run =
      RunFastSearch(options, CappedDevice(program, GiB(10)), overflows);
  EXPECT_THAT(run.fell_back, HasSubstr("batch 8 left no trace"));
  EXPECT_EQ(run.answer.safe_batch, 16);
}

TEST(FastSearchTest, SearchesADeviceWithoutSegments) {
  const SimulatedProgram program = PlainProgram();
  FastSearchOptions options;
  options.has_segments = false;
  options.conditions.cap = MiB(120 + 24 * 90 + 23);
  FastSearch search(options);
  for (const int64_t batch : {8, 32}) {
    Trial trial;
    trial.batch = batch;
    search.AddRecording(trial, program.TraceAt(batch));
  }
  EXPECT_EQ(search.Next(), FastDecision(RunBatch{90, TrialPurpose::kVerify}));
  ASSERT_TRUE(search.predicted().has_value());
  EXPECT_FALSE(search.predicted()->safe_interval.has_value());
}

TEST(FastSearchTest, RefusesResultsThatAreNotOfItsCalls) {
  FastSearch search({});
  const RunCallsAt order{8, {DistinctCall()}};
  EXPECT_THAT(search.AddCalls(order, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("0 results for 1 calls")));
  EXPECT_THAT(
      search.AddCalls(order, {{}}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no signature")));
}

}  // namespace
}  // namespace memplan
