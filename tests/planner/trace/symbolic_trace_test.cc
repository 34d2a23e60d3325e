#include "planner/trace/symbolic_trace.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/trace/instantiation.h"
#include "tests/planner/trace/small_trace.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::IsOkAndHolds;
using ::memplan::testing::SmallTrace;
using ::memplan::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

Shape Batch(int64_t value) { return {{"batch", value}}; }

// A weight, a convolution with scratch, an activation, all freed in the end.
Trace SmallRun(int64_t activation, int64_t scratch) {
  return SmallTrace(
      "M load | O 1 aten::empty | A w 4000 | M step0 | O 1 aten::conv2d | "
      "O 2 aten::convolution | A x " +
      std::to_string(activation) + " | A t " + std::to_string(scratch) +
      " | D t | O 1 aten::relu | A y " + std::to_string(activation) +
      " | O 1 aten::mean | D x | D y | M end");
}

class SmallSymbolicTraceTest : public ::testing::Test {
 protected:
  SmallSymbolicTraceTest()
      : small_(SmallRun(1600, 900)), large_(SmallRun(3200, 700)) {
    const std::vector<Recording> recordings = {{Batch(16), &small_},
                                               {Batch(32), &large_}};
    symbolic_ = MakeSymbolicTrace(recordings).value();
  }

  // The bytes of each request at `batch`, frees as 0.
  std::vector<int64_t> BytesAt(int64_t batch, InstantiateOptions options = {}) {
    const absl::Status status =
        Instantiator(symbolic_).Run(Batch(batch), options, stream_);
    EXPECT_THAT(status, IsOk());
    std::vector<int64_t> bytes;
    for (const Request& request : stream_.requests) {
      bytes.push_back(request.bytes);
    }
    return bytes;
  }

  Trace small_;
  Trace large_;
  SymbolicTrace symbolic_;
  RequestStream stream_;
};

TEST_F(SmallSymbolicTraceTest, ListsItsIrregularCalls) {
  ASSERT_EQ(symbolic_.calls.size(), 1);
  const SymbolicCall& call = symbolic_.calls[0];
  EXPECT_EQ(symbolic_.names.Name(call.name), "aten::conv2d");
  EXPECT_TRUE(call.is_convolution);
  EXPECT_EQ(call.requests, (RequestRange{1, 4}));
  EXPECT_THAT(call.outputs, ElementsAre(1));
  EXPECT_EQ(symbolic_.similarity_ratios[0], 1);
}

TEST_F(SmallSymbolicTraceTest, FollowsLawsBeyondTheRecordings) {
  // Weight, activation, scratch on its line (500 at 48), activation.
  EXPECT_THAT(BytesAt(48), ElementsAre(4000, 4800, 500, 0, 4800, 0, 0));
  EXPECT_EQ(stream_.requests[0].origin, SizeOrigin::kConstant);
  EXPECT_EQ(stream_.requests[1].origin, SizeOrigin::kAffine);
  EXPECT_EQ(stream_.requests[2].origin, SizeOrigin::kInterpolated);
}

TEST_F(SmallSymbolicTraceTest, AssumesScratchAsTold) {
  EXPECT_THAT(BytesAt(48, {ScratchScenario::kHeld}),
              ElementsAre(4000, 4800, 700, 0, 4800, 0, 0));
  EXPECT_EQ(stream_.requests[2].origin, SizeOrigin::kHeld);
  EXPECT_THAT(BytesAt(48, {ScratchScenario::kVanished}),
              ElementsAre(4000, 4800, 0, 0, 4800, 0, 0));
  // Twice the convolution's output besides.
  EXPECT_THAT(BytesAt(48, {ScratchScenario::kAppears}),
              ElementsAre(4000, 4800, 500, 0, 9600, 0, 4800, 0, 0));
  EXPECT_EQ(stream_.block_count, 5);
}

TEST_F(SmallSymbolicTraceTest, NeverGivesANegativeSize) {
  EXPECT_THAT(BytesAt(1000), ElementsAre(4000, 100000, 0, 0, 100000, 0, 0));
}

TEST_F(SmallSymbolicTraceTest, GivesEachRecordingBackAsItWas) {
  for (const ScratchScenario scenario : kAllScratchScenarios) {
    BytesAt(16, {scenario});
    EXPECT_EQ(stream_.requests, StreamOf(small_).requests);
    BytesAt(32, {scenario});
    EXPECT_EQ(stream_.requests, StreamOf(large_).requests);
  }
}

TEST_F(SmallSymbolicTraceTest, KeepsPhasesAndCallsInPlace) {
  BytesAt(48, {ScratchScenario::kAppears});
  ASSERT_EQ(stream_.phases.size(), 3);
  EXPECT_EQ(stream_.phases[1].begin, 1);
  EXPECT_TRUE(stream_.phases[1].is_step);
  EXPECT_EQ(stream_.phases[2].begin, 9);
  ASSERT_EQ(stream_.calls.size(), 1);
  EXPECT_EQ(stream_.calls[0].requests, (RequestRange{1, 6}));
}

TEST_F(SmallSymbolicTraceTest, TakesScratchFromPlans) {
  // Scratch first, then the output; if refused, a smaller one.
  CallPlans plans;
  plans.of_call = {0};
  plans.distinct = {
      {{{0, 64}, {1, 4800}, {0, 0}}, {{0, 32}, {1, 4800}, {0, 0}}}};
  EXPECT_THAT(BytesAt(48, {.plans = &plans}),
              ElementsAre(4000, 64, 4800, 0, 4800, 0, 0));
  EXPECT_EQ(stream_.requests[1].origin, SizeOrigin::kSubstituted);
  EXPECT_EQ(stream_.requests[1].block, 4);  // a new block
  EXPECT_EQ(stream_.requests[2].block, 1);  // the recorded output
  EXPECT_EQ(stream_.block_count, 6);
  ASSERT_EQ(stream_.calls.size(), 1);
  EXPECT_EQ(stream_.calls[0].plans, 0);
  EXPECT_EQ(stream_.calls[0].alternatives, (RequestRange{0, 1}));
  ASSERT_EQ(stream_.alternative_requests.size(), 3);
  EXPECT_EQ(stream_.alternative_requests[0].bytes, 32);
}

TEST_F(SmallSymbolicTraceTest, RefusesPlansThatDoNotGoWithTheirCall) {
  CallPlans plans;
  plans.of_call = {0};
  const auto run = [&](CallPlan plan) {
    plans.distinct = {{std::move(plan)}};
    return Instantiator(symbolic_).Run(Batch(48), {.plans = &plans}, stream_);
  };
  EXPECT_THAT(
      run({{0, 64}, {0, 0}}),
      StatusIs(kInvalid, AllOf(HasSubstr("aten::conv2d at event 6"),
                               HasSubstr("0 outputs, the recorded 1"))));
  EXPECT_THAT(run({{1, 64}}), StatusIs(kInvalid, HasSubstr("step 0")));
  EXPECT_THAT(run({{0, 64}, {0, 0}, {0, 0}}),
              StatusIs(kInvalid, HasSubstr("step 2")));
  EXPECT_THAT(run({{0, -64}}), StatusIs(kInvalid, HasSubstr("step 0")));
  plans.distinct.clear();
  EXPECT_THAT(
      Instantiator(symbolic_).Run(Batch(48), {.plans = &plans}, stream_),
      StatusIs(kInvalid, HasSubstr("none of that number")));
}

TEST_F(SmallSymbolicTraceTest, SaysHowAShapeLiesToTheRecordings) {
  EXPECT_THAT(ReachOf(symbolic_, Batch(16)), IsOkAndHolds(Reach::kRecorded));
  EXPECT_THAT(ReachOf(symbolic_, Batch(24)),
              IsOkAndHolds(Reach::kInterpolated));
  EXPECT_THAT(ReachOf(symbolic_, Batch(4)), IsOkAndHolds(Reach::kInterpolated));
  EXPECT_THAT(ReachOf(symbolic_, Batch(33)),
              IsOkAndHolds(Reach::kExtrapolated));
  EXPECT_THAT(ReachOf(symbolic_, Batch(0)), StatusIs(kInvalid, ::testing::_));
}

TEST_F(SmallSymbolicTraceTest, RefusesShapesThatItDoesNotKnow) {
  const auto run = [&](const Shape& shape) {
    return Instantiator(symbolic_).Run(shape, {}, stream_);
  };
  EXPECT_THAT(run({{"length", 8}}), StatusIs(kInvalid, HasSubstr("(batch)")));
  EXPECT_THAT(run({}), StatusIs(kInvalid, HasSubstr("(batch)")));
  EXPECT_THAT(run({{"batch", 8}, {"length", 8}}),
              StatusIs(kInvalid, HasSubstr("(batch)")));
  EXPECT_THAT(run(Batch(-1)), StatusIs(kInvalid, HasSubstr("from 1 to")));
}

TEST(SymbolicTraceTest, HasOneRuleForRequestsOfEqualSizes) {
  const Trace small = SmallRun(1600, 900);
  const Trace large = SmallRun(3200, 700);
  const std::vector<Recording> recordings = {{Batch(32), &large},
                                             {Batch(16), &small}};
  const auto symbolic = MakeSymbolicTrace(recordings);
  ASSERT_THAT(symbolic, IsOk());
  EXPECT_EQ(symbolic->largest, 0);
  EXPECT_EQ(symbolic->sizes.size(), 3);
}

TEST(SymbolicTraceTest, DrawsALineThroughSizesWithoutALaw) {
  const auto run = [](int64_t bytes) {
    return SmallTrace("M step0 | O 1 aten::empty | A x " +
                      std::to_string(bytes) + " | O 1 aten::mm");
  };
  const Trace at_10 = run(100);
  const Trace at_20 = run(203);
  const Trace at_40 = run(400);
  const std::vector<Recording> recordings = {
      {Batch(10), &at_10}, {Batch(20), &at_20}, {Batch(40), &at_40}};
  const SymbolicTrace symbolic = MakeSymbolicTrace(recordings).value();
  RequestStream stream;
  Instantiator instantiator(symbolic);
  // Between 100 and 203; beyond, on the line through 203 and 400; rounded up.
  ASSERT_THAT(instantiator.Run(Batch(15), {}, stream), IsOk());
  EXPECT_EQ(stream.requests[0].bytes, 152);
  EXPECT_EQ(stream.requests[0].origin, SizeOrigin::kInterpolated);
  ASSERT_THAT(instantiator.Run(Batch(60), {}, stream), IsOk());
  EXPECT_EQ(stream.requests[0].bytes, 597);
}

TEST(SymbolicTraceTest, KeepsAReductionsScratchBelowItsCeiling) {
  const auto run = [](int64_t scratch) {
    return SmallTrace("M step0 | O 1 aten::sum | A x 4 | A t " +
                      std::to_string(scratch) + " | D t | O 1 aten::mm");
  };
  const Trace at_1 = run(100'000'000);
  const Trace at_2 = run(110'000'000);
  const std::vector<Recording> recordings = {{Batch(1), &at_1},
                                             {Batch(2), &at_2}};
  const SymbolicTrace symbolic = MakeSymbolicTrace(recordings).value();
  RequestStream stream;
  ASSERT_THAT(Instantiator(symbolic).Run(Batch(9), {}, stream), IsOk());
  EXPECT_EQ(stream.requests[1].bytes, 138'412'032);  // not 180,000,000
  EXPECT_EQ(stream.requests[1].origin, SizeOrigin::kClosedForm);
}

TEST(SymbolicTraceTest, TakesConstantScratchForRegular) {
  const auto run = [](int64_t output) {
    return SmallTrace("M step0 | O 1 aten::softmax | A x " +
                      std::to_string(output) +
                      " | A t 512 | D t | O 1 aten::mm");
  };
  const Trace small = run(100);
  const Trace large = run(200);
  const std::vector<Recording> recordings = {{Batch(1), &small},
                                             {Batch(2), &large}};
  EXPECT_THAT(MakeSymbolicTrace(recordings)->calls, IsEmpty());
}

TEST(SymbolicTraceTest, KnowsLawsOfTwoDimensions) {
  const auto run = [](int64_t bytes) {
    return SmallTrace("M step0 | O 1 aten::mm | A x " + std::to_string(bytes) +
                      " | O 1 aten::mm");
  };
  const Trace a = run(20);
  const Trace b = run(30);
  const Trace c = run(42);  // 7 + 10·batch + 3·length
  const std::vector<Recording> recordings = {
      {{{"batch", 1}, {"length", 1}}, &a},
      {{{"batch", 2}, {"length", 1}}, &b},
      {{{"batch", 2}, {"length", 5}}, &c}};
  const auto symbolic = MakeSymbolicTrace(recordings);
  ASSERT_THAT(symbolic, IsOk());
  EXPECT_EQ(symbolic->largest, 2);
  RequestStream stream;
  const Shape shape = {{"batch", 10}, {"length", 100}};
  ASSERT_THAT(Instantiator(*symbolic).Run(shape, {}, stream), IsOk());
  EXPECT_EQ(stream.requests[0].bytes, 407);

  const std::vector<Recording> two = {recordings[0], recordings[2]};
  EXPECT_THAT(MakeSymbolicTrace(two),
              StatusIs(kInvalid, HasSubstr("do not tell 2 varying")));
  const std::vector<Recording> one_length = {recordings[0], recordings[1]};
  const auto fixed = MakeSymbolicTrace(one_length);
  ASSERT_THAT(fixed, IsOk());
  EXPECT_THAT(Instantiator(*fixed).Run(shape, {}, stream),
              StatusIs(kInvalid, HasSubstr("length was 1 in every recording")));
}

TEST(SymbolicTraceTest, RefusesRecordingsThatShowNothing) {
  const Trace run = SmallRun(1600, 900);
  const Trace empty;
  const std::vector<Recording> one = {{Batch(16), &run}};
  EXPECT_THAT(MakeSymbolicTrace(one),
              StatusIs(kInvalid, AllOf(HasSubstr("record a second shape"),
                                       HasSubstr("replay this one"))));
  EXPECT_THAT(MakeSymbolicTrace({}), StatusIs(kInvalid, HasSubstr("not 0")));
  const std::vector<Recording> equal = {{Batch(16), &run}, {Batch(16), &run}};
  EXPECT_THAT(MakeSymbolicTrace(equal),
              StatusIs(kInvalid, HasSubstr("two recordings are of batch 16")));
  const std::vector<Recording> none = {{Batch(16), &run}, {Batch(32), &empty}};
  EXPECT_THAT(MakeSymbolicTrace(none),
              StatusIs(kInvalid, HasSubstr("at batch 32 has no event")));
  const std::vector<Recording> names = {{Batch(16), &run},
                                        {{{"samples", 32}}, &run}};
  EXPECT_THAT(MakeSymbolicTrace(names),
              StatusIs(kInvalid, HasSubstr("same dimensions")));
  const std::vector<Recording> zero = {{Batch(16), &run}, {Batch(0), &run}};
  EXPECT_THAT(MakeSymbolicTrace(zero), StatusIs(kInvalid, HasSubstr("not 0")));
  const std::vector<Recording> many(kMaxRecordings + 1, {Batch(16), &run});
  EXPECT_THAT(MakeSymbolicTrace(many), StatusIs(kInvalid, HasSubstr("not 17")));
}

TEST(SymbolicTraceTest,
     RefusesTracesOfDifferentProgramsAndSaysHowAlikeTheyAre) {
  const Trace run = SmallRun(1600, 900);
  const Trace other = SmallTrace("M load | M train | O 1 aten::gelu | A x 8");
  const std::vector<Recording> recordings = {{Batch(16), &run},
                                             {Batch(32), &other}};
  // `load` alone of eight and three marks is common.
  EXPECT_THAT(MakeSymbolicTrace(recordings),
              StatusIs(kInvalid, AllOf(HasSubstr("batch 32 and batch 16"),
                                       HasSubstr("18.2 % is alike"))));
}

TEST(SymbolicTraceTest, RefusesSizesAbove1EiB) {
  const auto run = [](int64_t bytes) {
    return SmallTrace("M step0 | O 1 aten::mm | A x " + std::to_string(bytes));
  };
  const Trace small = run(int64_t{1} << 40);
  const Trace large = run(int64_t{1} << 41);
  const std::vector<Recording> recordings = {{Batch(1), &small},
                                             {Batch(2), &large}};
  const SymbolicTrace symbolic = MakeSymbolicTrace(recordings).value();
  RequestStream stream;
  EXPECT_THAT(Instantiator(symbolic).Run(Batch(1 << 21), {}, stream),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("1 EiB")));
}

}  // namespace
}  // namespace memplan
