#include "planner/plan/nearby_call_plans.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/plan/known_calls.h"
#include "tests/planner/plan/simulated_program.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::Layer;
using ::memplan::testing::ScratchKind;
using ::memplan::testing::SimulatedProgram;
using ::memplan::testing::StatusIs;
using ::testing::HasSubstr;

Shape Batch(int64_t value) { return {{"batch", value}}; }

// One convolution: 1000 bytes of output a sample, scratch of 100 bytes a sample
// up to 99 on the way there, none from 100 on.
class NearbyCallPlansTest : public ::testing::Test {
 protected:
  NearbyCallPlansTest()
      : program_({Layer{.weight_bytes = 5000,
                        .output_bytes = 1000,
                        .is_convolution = true,
                        .forward = {ScratchKind::kVanishes, 100, 100}}}) {
    const Trace small = program_.TraceAt(8);
    const Trace large = program_.TraceAt(32);
    const std::vector<Recording> recordings = {{Batch(8), &small},
                                               {Batch(32), &large}};
    symbolic_ = MakeSymbolicTrace(recordings).value();
  }

  void RunCallsAt(int64_t batch) {
    const auto calls =
        known_.Unknown(IrregularCallsAt(symbolic_, Batch(batch)).value());
    std::vector<CallPlansOrNone> results;
    for (const DistinctCall& call : calls) {
      results.push_back(program_.RunCall(call));
    }
    ASSERT_TRUE(known_.Add(batch, calls, std::move(results)).ok());
  }

  NearbyCallPlans Plans() const {
    return NearbyCallPlans::Create(symbolic_, known_).value();
  }

  // Of the way there.
  static CallPlan First(const CallPlans& plans) {
    return plans.distinct.at(plans.of_call.at(0)).at(0);
  }

  SimulatedProgram program_;
  SymbolicTrace symbolic_;
  KnownCalls known_;
};

TEST_F(NearbyCallPlansTest, GivesWhatACallDidAtItsBatch) {
  RunCallsAt(99);
  NearbyCallPlans plans = Plans();
  EXPECT_EQ(First(*plans.At(Batch(99))),
            (CallPlan{{0, 99'000}, {1, 9'900}, {1, 0}}));
  EXPECT_EQ(plans.KnowledgeAt(99), CallKnowledge::kRun);
  EXPECT_EQ(plans.distinct_calls(), 2);  // there and back
}

TEST_F(NearbyCallPlansTest, ScalesThePlanOfTheNearestBatch) {
  RunCallsAt(99);
  RunCallsAt(100);
  NearbyCallPlans plans = Plans();
  EXPECT_EQ(First(*plans.At(Batch(90))),
            (CallPlan{{0, 90'000}, {1, 9'000}, {1, 0}}));
  EXPECT_EQ(First(*plans.At(Batch(110))), (CallPlan{{0, 110'000}}));
  EXPECT_EQ(plans.KnowledgeAt(90), CallKnowledge::kScaled);
}

TEST_F(NearbyCallPlansTest, GivesNothingFarFromAllBatchesRun) {
  RunCallsAt(100);
  NearbyCallPlans plans = Plans();
  EXPECT_NE(plans.At(Batch(164)), nullptr);
  EXPECT_EQ(plans.At(Batch(165)), nullptr);
  EXPECT_EQ(plans.KnowledgeAt(165), CallKnowledge::kAssumed);
  EXPECT_EQ(plans.KnowledgeAt(32), CallKnowledge::kRecorded);
}

TEST_F(NearbyCallPlansTest, LeavesOutWhatDoesNotGoWithTheCall) {
  const auto calls =
      known_.Unknown(IrregularCallsAt(symbolic_, Batch(50)).value());
  ASSERT_EQ(calls.size(), 2);
  const CallPlan two_outputs = {{0, 50'000}, {1, 9}};
  const CallPlan right = {{0, 50'000}};
  // The way there: its second plan has an output too many. The way back: no plan.
  ASSERT_TRUE(known_.Add(50, calls, {{right, two_outputs, right}, {}}).ok());
  NearbyCallPlans plans = Plans();
  const CallPlans* at = plans.At(Batch(50));
  EXPECT_EQ(at->distinct.at(at->of_call.at(0)).size(), 1);
  EXPECT_EQ(at->of_call.at(1), kNoId);
  EXPECT_EQ(plans.KnowledgeAt(50), CallKnowledge::kAssumed);
}

TEST_F(NearbyCallPlansTest, KeepsResultsByCallWhoeverAskedForThem) {
  RunCallsAt(99);
  const auto calls = IrregularCallsAt(symbolic_, Batch(99)).value();
  EXPECT_TRUE(known_.Unknown(calls).empty());
  EXPECT_EQ(
      known_.Unknown(IrregularCallsAt(symbolic_, Batch(98)).value()).size(), 2);
  EXPECT_THAT(known_.Add(98, calls, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("0 results for 2 calls")));
}

}  // namespace
}  // namespace memplan
