#include "planner/plan/prediction_search.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/plan/shape_estimate.h"
#include "tests/planner/trace/small_trace.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::SmallTrace;
using ::memplan::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kMiB = int64_t{1} << 20;

Shape Batch(int64_t value) { return {{"batch", value}}; }

// Weights of 40 MiB; in each of two steps an activation of 2 MiB a sample, then
// one of 4 MiB a sample, when the first is gone. From batch 10 on both have
// segments of their own.
Trace TwoStepRun(int64_t batch) {
  const std::string first = std::to_string(2 * kMiB * batch);
  const std::string second = std::to_string(4 * kMiB * batch);
  std::string text =
      "M load | O 1 aten::empty | A w " + std::to_string(40 * kMiB);
  for (const char* step : {"step0", "step1"}) {
    text += " | M ";
    text += step;
    text += " | O 1 aten::mm | A x " + first + " | O 1 aten::relu | D x | ";
    text += "O 1 aten::mm | A y " + second + " | O 1 aten::mean | D y";
  }
  return SmallTrace(text + " | M end");
}

SymbolicTrace TwoStepTrace() {
  const Trace small = TwoStepRun(10);
  const Trace large = TwoStepRun(20);
  const std::vector<Recording> recordings = {{Batch(10), &small},
                                             {Batch(20), &large}};
  return MakeSymbolicTrace(recordings).value();
}

AllocatorConditions Cap(Bytes cap) {
  AllocatorConditions conditions;
  conditions.cap = cap;
  return conditions;
}

// 640 MiB: 40 + 4·b fit up to 150, the first activation's segment given back in
// the first step. In the second, both activations use the larger segment.
TEST(PredictionSearchTest, FindsTheSafeAndTheComfortableBatch) {
  const SymbolicTrace symbolic = TwoStepTrace();
  PredictionSearch search(symbolic, Cap(MiB(640)));
  const auto found = search.Find({});
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->safe_batch, 150);
  EXPECT_THAT(found->running_above, IsEmpty());
  EXPECT_EQ(found->checked_from, 86);
  EXPECT_EQ(found->checked_to, 214);
  EXPECT_EQ(found->comfortable_batch, 150);
  EXPECT_EQ(found->at_safe.retries, 1);
  EXPECT_EQ(found->at_safe.steady_retries, 0);
}

// If large blocks are not split, the first activation cannot use the segment of
// the second: from 40 + 2·b + 4·b = 640 MiB on, each step gives segments back.
TEST(PredictionSearchTest, IsComfortableWhereNoStepGivesMemoryBack) {
  const SymbolicTrace symbolic = TwoStepTrace();
  AllocatorConditions conditions = Cap(MiB(640));
  conditions.settings.max_split_size = MiB(20);
  const auto found = PredictionSearch(symbolic, conditions).Find({});
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->safe_batch, 150);
  EXPECT_EQ(found->comfortable_batch, 100);
  EXPECT_GE(found->at_safe.steady_segments_freed, 1);
}

TEST(PredictionSearchTest, AnswersOtherCapsAndSettingsFromOneTrace) {
  const SymbolicTrace symbolic = TwoStepTrace();
  for (const int64_t limit : {30, 75, 1000}) {
    PredictionSearch search(symbolic, Cap(MiB(40 + 4 * limit)));
    EXPECT_EQ(search.Find({})->safe_batch, limit);
  }
  AllocatorConditions expandable = Cap(MiB(640));
  expandable.settings.expandable_segments = true;
  // Pages of 20 MiB are shared by all three.
  EXPECT_GE(PredictionSearch(symbolic, expandable).Find({})->safe_batch, 145);
}

TEST(PredictionSearchTest, HonoursTheLargestBatchAndTheCandidates) {
  const SymbolicTrace symbolic = TwoStepTrace();
  PredictionSearch search(symbolic, Cap(MiB(640)));
  PredictionOptions options;
  options.max_batch = 64;
  EXPECT_EQ(search.Find(options)->safe_batch, 64);
  options.candidates = {8, 100, 149, 151, 400};
  EXPECT_EQ(search.Find(options)->safe_batch, 149);
}

TEST(PredictionSearchTest, FindsNothingWhereTheWeightsDoNotFit) {
  const SymbolicTrace symbolic = TwoStepTrace();
  const auto found = PredictionSearch(symbolic, Cap(MiB(30))).Find({});
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->safe_batch, 0);
  EXPECT_EQ(found->comfortable_batch, 0);
}

TEST(PredictionSearchTest, EndsBelowSizesThatNoDeviceHolds) {
  // Without a cap only sizes above 1 EiB stop it: 4 MiB · 2^38 samples.
  const SymbolicTrace symbolic = TwoStepTrace();
  PredictionSearch search(symbolic, {});
  PredictionOptions options;
  options.max_batch = 1 << 20;
  options.reach = 2;
  EXPECT_EQ(search.Find(options)->safe_batch, 1 << 20);
}

TEST(PredictionSearchTest, RefusesOptionsThatMeanNothing) {
  const SymbolicTrace symbolic = TwoStepTrace();
  PredictionSearch search(symbolic, {});
  PredictionOptions options;
  options.candidates = {8, 8};
  EXPECT_THAT(search.Find(options), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("candidate 1 is 8")));
  options = PredictionOptions();
  options.dimension = 1;
  EXPECT_THAT(search.Find(options), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("no dimension 1")));
  options = PredictionOptions();
  options.shape = {{"length", 1}};
  EXPECT_THAT(search.Find(options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("recorded dimensions (batch)")));
  options = PredictionOptions();
  options.max_batch = 0;
  EXPECT_THAT(search.Find(options),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
}

TEST(ShapeEstimatorTest, KnowsWhereEachByteComesFrom) {
  const SymbolicTrace symbolic = TwoStepTrace();
  const auto estimate = ShapeEstimator(symbolic, {}).Estimate(Batch(100));
  ASSERT_THAT(estimate, IsOk());
  // Weights and the larger activation.
  EXPECT_EQ(estimate->requested.estimate, MiB(440));
  EXPECT_EQ(estimate->reserved.estimate, MiB(640));
  EXPECT_EQ(estimate->reach, Reach::kExtrapolated);
  EXPECT_EQ(estimate->irregular_calls, 0);
  const auto bytes_of = [&](SizeOrigin origin) {
    return estimate->requested_by_origin[static_cast<int>(origin)];
  };
  EXPECT_EQ(bytes_of(SizeOrigin::kConstant), MiB(40));
  EXPECT_EQ(bytes_of(SizeOrigin::kAffine), MiB(400));
}

TEST(ShapeEstimatorTest, IsCertainAtARecordedShape) {
  const SymbolicTrace symbolic = TwoStepTrace();
  const auto estimate = ShapeEstimator(symbolic, {}).Estimate(Batch(20));
  ASSERT_THAT(estimate, IsOk());
  EXPECT_EQ(estimate->reach, Reach::kRecorded);
  EXPECT_EQ(estimate->requested.lower, MiB(120));
  EXPECT_EQ(estimate->requested.upper, MiB(120));
}

TEST(ShapeEstimatorTest, LeavesRoomForASegmentUpToTheCap) {
  const SymbolicTrace symbolic = TwoStepTrace();
  const auto freely = ShapeEstimator(symbolic, {}).Estimate(Batch(100));
  ASSERT_THAT(freely, IsOk());
  // One of 20 MiB: more than the 0.25 % of 640 MiB.
  EXPECT_EQ(freely->reserved, (PeakEstimate{MiB(640), MiB(620), MiB(660)}));
  // 0.1 % of 440 MiB.
  const Bytes margin(461373);
  EXPECT_EQ(freely->allocated,
            (PeakEstimate{MiB(440), MiB(440) - margin, MiB(440) + margin}));
  const auto capped =
      ShapeEstimator(symbolic, Cap(MiB(650))).Estimate(Batch(100));
  ASSERT_THAT(capped, IsOk());
  EXPECT_EQ(capped->reserved, (PeakEstimate{MiB(640), MiB(620), MiB(650)}));
}

TEST(ShapeEstimatorTest, SaysWhichRequestFails) {
  const SymbolicTrace symbolic = TwoStepTrace();
  const auto estimate =
      ShapeEstimator(symbolic, Cap(MiB(300))).Estimate(Batch(100));
  ASSERT_THAT(estimate, IsOk());
  EXPECT_FALSE(estimate->outcome.Runs());
  EXPECT_TRUE(estimate->is_end_certain);
  // The second activation of the first step.
  EXPECT_EQ(estimate->failed_event, 9);
}

TEST(ShapeEstimatorTest, RefusesShapesThatTheTraceDoesNotKnow) {
  const SymbolicTrace symbolic = TwoStepTrace();
  EXPECT_THAT(ShapeEstimator(symbolic, {}).Estimate({{"length", 1}}),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
}

}  // namespace
}  // namespace memplan
