// Whether intervals hold under the settings and caps that were recorded: what a
// run took that got through is predicted from two smaller batches, recorded with
// neither. Operators are known from the run without a cap.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "planner/plan/shape_estimate.h"
#include "tests/planner/allocator/sample_conditions.h"
#include "tests/planner/plan/recorded_programs.h"
#include "tests/planner/trace/recorded_plans.h"

namespace memplan {
namespace {

using ::memplan::testing::BatchShape;
using ::memplan::testing::ConditionsOf;
using ::memplan::testing::PlansIn;
using ::memplan::testing::RecordedProgram;
using ::memplan::testing::RecordedPrograms;
using ::memplan::testing::RecordedTrace;
using ::memplan::testing::RecordedTracesIn;
using ::memplan::testing::SymbolicTraceOf;

const RecordedProgram& ProgramOf(const RecordedTrace& recorded) {
  const std::string name = recorded.model + "-" + recorded.mode;
  const std::vector<RecordedProgram>& all = RecordedPrograms();
  return *std::find_if(all.begin(), all.end(), [&](const auto& program) {
    return program.name == name;
  });
}

ShapeEstimate Predict(const RecordedTrace& recorded) {
  const RecordedProgram& program = ProgramOf(recorded);
  const SymbolicTrace symbolic = SymbolicTraceOf(program, {8, 16});
  const CallPlans plans = PlansIn(symbolic, program.runs.at(16).trace,
                                  program.runs.at(recorded.batch).trace);
  return ShapeEstimator(symbolic, ConditionsOf(recorded))
      .Estimate(BatchShape(recorded.batch),
                {.plans = &plans, .only_those_that_run = true})
      .value();
}

bool Holds(const PeakEstimate& peak, int64_t truth_bytes) {
  return peak.lower <= Bytes(truth_bytes) && Bytes(truth_bytes) <= peak.upper;
}

TEST(IntervalConditionsTest, HoldsThePeaksOfRunsThatGotThrough) {
  int compared = 0;
  for (const char* folder : {"settings", "caps"}) {
    for (const RecordedTrace& recorded : RecordedTracesIn(folder)) {
      if (recorded.end != "ok") continue;
      const ShapeEstimate estimate = Predict(recorded);
      ++compared;
      EXPECT_TRUE(estimate.outcome.Runs()) << recorded;
      EXPECT_TRUE(Holds(estimate.allocated, recorded.peak_allocated_bytes))
          << recorded;
      EXPECT_TRUE(Holds(estimate.reserved, recorded.peak_reserved_bytes))
          << recorded;
    }
  }
  EXPECT_EQ(compared, 38);
}

}  // namespace
}  // namespace memplan
