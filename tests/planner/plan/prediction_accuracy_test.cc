// How well peaks at three times the largest recorded batch and more are predicted
// over the recorded traces, from batches 8 and 16 and from 16 and 32. Prints the
// table of docs/measurements.md, "Prediction without runs", and asserts its
// bounds.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/plan/shape_estimate.h"
#include "tests/planner/plan/recorded_programs.h"
#include "tests/planner/trace/recorded_plans.h"

namespace memplan {
namespace {

using ::memplan::testing::BatchShape;
using ::memplan::testing::PlansIn;
using ::memplan::testing::RecordedProgram;
using ::memplan::testing::RecordedPrograms;
using ::memplan::testing::RecordedRun;
using ::memplan::testing::SymbolicTraceOf;

// One predicted peak against the truth, in per cent of it.
struct Deviation {
  double error = 0;  // signed
  double width = 0;  // of the interval
  bool holds_truth = false;
};

struct Prediction {
  std::string program;
  int64_t largest_recorded = 0;
  int64_t batch = 0;
  bool is_scratch_known = false;
  Deviation allocated;
  Deviation reserved;
};

Deviation Compare(const PeakEstimate& estimate, int64_t truth_bytes) {
  const auto truth = static_cast<double>(truth_bytes);
  const auto percent = [&](Bytes bytes) {
    return 100 * static_cast<double>(bytes.count()) / truth;
  };
  return {.error = percent(estimate.estimate) - 100,
          .width = percent(estimate.upper) - percent(estimate.lower),
          .holds_truth = estimate.lower <= Bytes(truth_bytes) &&
                         Bytes(truth_bytes) <= estimate.upper};
}

// From the recordings at `recorded`, in rising order, at 3 × the last and more.
void Predict(const RecordedProgram& program,
             const std::vector<int64_t>& recorded,
             std::vector<Prediction>& predictions) {
  const int64_t large = recorded.back();
  const SymbolicTrace symbolic = SymbolicTraceOf(program, recorded);
  ShapeEstimator estimator(symbolic, {});
  for (const auto& [batch, run] : program.runs) {
    if (batch < 3 * large) continue;
    const CallPlans plans =
        PlansIn(symbolic, program.runs.at(large).trace, run.trace);
    for (const bool is_known : {false, true}) {
      const ShapeEstimate estimate =
          estimator
              .Estimate(BatchShape(batch),
                        {.plans = is_known ? &plans : nullptr})
              .value();
      EXPECT_TRUE(estimate.outcome.Runs());
      predictions.push_back(
          {.program = program.name,
           .largest_recorded = large,
           .batch = batch,
           .is_scratch_known = is_known,
           .allocated =
               Compare(estimate.allocated, run.recorded.peak_allocated_bytes),
           .reserved =
               Compare(estimate.reserved, run.recorded.peak_reserved_bytes)});
    }
  }
}

const std::vector<Prediction>& AllPredictions() {
  static const auto& predictions = *[] {
    auto* made = new std::vector<Prediction>();
    for (const RecordedProgram& program : RecordedPrograms()) {
      Predict(program, {8, 16}, *made);
      Predict(program, {16, 32}, *made);
    }
    return made;
  }();
  return predictions;
}

// Of those from recordings up to `largest_recorded` (0: all).
std::vector<Prediction> Select(int64_t largest_recorded,
                               bool is_scratch_known) {
  std::vector<Prediction> selected;
  for (const Prediction& prediction : AllPredictions()) {
    if ((largest_recorded == 0 ||
         prediction.largest_recorded == largest_recorded) &&
        prediction.is_scratch_known == is_scratch_known) {
      selected.push_back(prediction);
    }
  }
  EXPECT_FALSE(selected.empty());
  return selected;
}

template <typename Value>
std::vector<double> Sorted(const std::vector<Prediction>& predictions,
                           Value value) {
  std::vector<double> values;
  for (const Prediction& prediction : predictions) {
    values.push_back(std::abs(value(prediction)));
  }
  std::sort(values.begin(), values.end());
  return values;
}

double Median(const std::vector<double>& sorted) {
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle]
                                : (sorted[middle - 1] + sorted[middle]) / 2;
}

double AllocatedError(const Prediction& of) { return of.allocated.error; }
double ReservedError(const Prediction& of) { return of.reserved.error; }
double AllocatedWidth(const Prediction& of) { return of.allocated.width; }
double ReservedWidth(const Prediction& of) { return of.reserved.width; }

TEST(PredictionAccuracyTest, PrintsTheTable) {
  std::printf(
      "| program | recorded | batch | allocated, assumed | reserved, assumed | "
      "interval | allocated, known | reserved, known | interval |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  const std::vector<Prediction> assumed = Select(0, false);
  const std::vector<Prediction> known = Select(0, true);
  for (size_t i = 0; i < assumed.size(); ++i) {
    const Prediction& a = assumed[i];
    const Prediction& k = known[i];
    std::printf(
        "| %s | %d, %d | %d | %+.4f | %+.3f | %.1f | %+.4f | %+.3f | %.2f |\n",
        a.program.c_str(), static_cast<int>(a.largest_recorded / 2),
        static_cast<int>(a.largest_recorded), static_cast<int>(a.batch),
        a.allocated.error, a.reserved.error, a.reserved.width,
        k.allocated.error, k.reserved.error, k.reserved.width);
  }
  for (const int64_t largest : {16, 32}) {
    for (const bool is_known : {false, true}) {
      const std::vector<Prediction> of = Select(largest, is_known);
      const std::vector<double> allocated = Sorted(of, AllocatedError);
      const std::vector<double> reserved = Sorted(of, ReservedError);
      std::printf(
          "from %d, %d, scratch %s: %d predictions; allocated median %.4f %%, "
          "worst %.4f %%; reserved median %.3f %%, worst %.3f %%; interval "
          "median width %.3f %% and %.2f %%\n",
          static_cast<int>(largest / 2), static_cast<int>(largest),
          is_known ? "known" : "assumed", static_cast<int>(of.size()),
          Median(allocated), allocated.back(), Median(reserved),
          reserved.back(), Median(Sorted(of, AllocatedWidth)),
          Median(Sorted(of, ReservedWidth)));
    }
  }
}

TEST(PredictionAccuracyTest,
     PredictsAllocatedToAHundredthOfAPercentInTheMedian) {
  for (const int64_t largest : {16, 32}) {
    for (const bool is_known : {false, true}) {
      EXPECT_LE(Median(Sorted(Select(largest, is_known), AllocatedError)), 0.01)
          << largest << is_known;
    }
  }
}

TEST(PredictionAccuracyTest, IsWithinItsBoundsWhereScratchIsKnown) {
  const std::vector<Prediction> all = Select(0, true);
  EXPECT_LE(Sorted(all, AllocatedError).back(), 0.05);
  EXPECT_LE(Sorted(all, ReservedError).back(), 1);
  EXPECT_LE(Median(Sorted(all, AllocatedWidth)), 2);
  EXPECT_LE(Median(Sorted(all, ReservedWidth)), 2);
}

TEST(PredictionAccuracyTest, HoldsTheTruthInEveryInterval) {
  for (const Prediction& prediction : AllPredictions()) {
    EXPECT_TRUE(prediction.allocated.holds_truth &&
                prediction.reserved.holds_truth)
        << prediction.program << " at " << prediction.batch << " from "
        << prediction.largest_recorded;
  }
}

// Under the least cap at which the usual order runs, others do not.
TEST(PredictionAccuracyTest, CanLeaveOutWhatFailsWhereTheBestGuessRuns) {
  int narrower = 0;
  for (const RecordedProgram& program : RecordedPrograms()) {
    const SymbolicTrace symbolic = SymbolicTraceOf(program, {8, 16});
    const Shape shape = BatchShape(program.runs.rbegin()->first);
    AllocatorConditions conditions;
    const ShapeEstimate freely =
        ShapeEstimator(symbolic, conditions).Estimate(shape).value();
    conditions.cap = freely.reserved.estimate;
    ShapeEstimator estimator(symbolic, conditions);
    const ShapeEstimate all = estimator.Estimate(shape).value();
    const ShapeEstimate running =
        estimator.Estimate(shape, {.only_those_that_run = true}).value();
    ASSERT_TRUE(running.outcome.Runs());
    EXPECT_EQ(running.is_end_certain, all.is_end_certain);
    EXPECT_GE(running.allocated.lower, all.allocated.lower) << program.name;
    EXPECT_LE(running.allocated.upper, all.allocated.upper) << program.name;
    narrower += running.allocated != all.allocated;
  }
  EXPECT_GT(narrower, 0);
}

TEST(PredictionAccuracyTest, IsAsGoodFromThreeRecordings) {
  std::vector<Prediction> predictions;
  for (const RecordedProgram& program : RecordedPrograms()) {
    Predict(program, {8, 16, 32}, predictions);
  }
  ASSERT_FALSE(predictions.empty());
  for (const Prediction& prediction : predictions) {
    EXPECT_TRUE(prediction.allocated.holds_truth &&
                prediction.reserved.holds_truth)
        << prediction.program << " at " << prediction.batch;
    if (!prediction.is_scratch_known) continue;
    EXPECT_LE(std::abs(prediction.allocated.error), 0.05);
    EXPECT_LE(std::abs(prediction.reserved.error), 1);
  }
}

}  // namespace
}  // namespace memplan
