// A recorded probe whose answer was too small, the U-Net with AdamW and bfloat16
// casts under 8 GiB: it answered 47, and 48 runs as well.
//
// At 48 the backward pass of a convolution is refused scratch and does with
// little. Run alone at 48, the worker that recorded this did not refuse it scratch:
// there the second of its two scratches lies in the segment of the first
// (call_events_test.cc). So the planner took its refusal for the end.
#include <cstdint>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/allocator/caching_allocator.h"
#include "planner/allocator/recorded_addresses.h"
#include "planner/allocator/replay.h"
#include "planner/plan/fast_search.h"
#include "tests/planner/plan/fast_search_run.h"
#include "tests/support/recorded_probe.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::CappedDevice;
using ::memplan::testing::DeviceProgram;
using ::memplan::testing::FastRun;
using ::memplan::testing::IsOk;
using ::memplan::testing::ReadRecordedProbe;
using ::memplan::testing::ReadWorkerTrace;
using ::memplan::testing::RecordedProbe;
using ::memplan::testing::RunFastSearch;
using ::testing::ElementsAre;

constexpr Bytes kCap = GiB(8);
constexpr int64_t kAnswered = 47;
constexpr int64_t kTrue = 48;  // 49 and 50 ran out of memory
// What the run of 48 held at most.
constexpr Bytes kAllocated(8081969152);
constexpr Bytes kReserved(8560574464);

Trace TraceOfTrue() {
  return ReadWorkerTrace("beyond/unet-adamw-bf16-8-eager-48.trace.xz");
}

AllocatorConditions Capped() {
  AllocatorConditions conditions;
  conditions.cap = kCap;
  return conditions;
}

// The card as it was recorded.
class Card : public DeviceProgram {
 public:
  Card() { probe_.traces[kTrue] = TraceOfTrue(); }

  Trace TraceAt(int64_t batch) const override {
    return probe_.traces.at(batch);
  }
  CallPlansOrNone RunCall(const DistinctCall& call) const override {
    const auto found = probe_.calls.find(CallKey(call));
    return found == probe_.calls.end() ? CallPlansOrNone() : found->second;
  }

 private:
  RecordedProbe probe_ = ReadRecordedProbe("unet-adamw-bf16-8-eager");
};

// The card with a worker that refuses scratch in a segment of the call's own too:
// that call then does what it did in the run of 48.
class CardWithAllPlans : public Card {
 public:
  CallPlansOrNone RunCall(const DistinctCall& call) const override {
    CallPlansOrNone plans = Card::RunCall(call);
    const CallPlan alone = {{0, 308281344}, {1, 616636563}, {1, 0},
                            {2, 73728},     {3, 618554023}, {3, 0}};
    if (plans == CallPlansOrNone{alone}) {
      plans.push_back({{0, 308281344}, {1, 73728}, {2, 147760}, {2, 0}});
    }
    return plans;
  }
};

FastRun Search(const DeviceProgram& program) {
  FastSearchOptions options;
  options.conditions = Capped();
  return RunFastSearch(options, CappedDevice(program, kCap));
}

TEST(TooSmallAnswerTest, TheBatchAboveTheAnswerRunsToTheByte) {
  const Trace trace = TraceOfTrue();
  RecordedAddresses addresses(trace);
  const auto report = ReplayTrace(trace, Capped(), addresses);
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->end, ReplayEnd::kOk);
  EXPECT_EQ(report->first_moved, std::nullopt);
  EXPECT_EQ(report->peaks.allocated.bytes, kAllocated);
  EXPECT_EQ(report->peaks.reserved.bytes, kReserved);
  // cuDNN tried that many plans of one call before it took little.
  EXPECT_EQ(report->failed_requests.size(), 77);
  EXPECT_EQ(report->served_failures, 0);
}

TEST(TooSmallAnswerTest, TheAnswerIsTooSmallForWantOfAPlan) {
  const FastRun run = Search(Card());
  EXPECT_EQ(run.answer.safe_batch, kAnswered);
  EXPECT_THAT(run.Batches(), ElementsAre(8, 32, kAnswered));
  const PredictedBatch& failing = run.predicted.value().failing;
  EXPECT_EQ(failing.batch, kTrue);
  EXPECT_TRUE(failing.outcome.ended_in_scratch);
  EXPECT_EQ(failing.outcome.refused_plans, 1);
}

TEST(TooSmallAnswerTest, TheAnswerIsTrueWithAllPlansOfThatCall) {
  const FastRun run = Search(CardWithAllPlans());
  EXPECT_EQ(run.answer.safe_batch, kTrue);
  EXPECT_THAT(run.Batches(), ElementsAre(8, 32, kTrue));
  ASSERT_FALSE(run.foretold.empty());
  const PredictedBatch& foretold = run.foretold.back().safe;
  EXPECT_EQ(foretold.batch, kTrue);
  EXPECT_EQ(foretold.outcome.peaks.allocated.bytes, kAllocated);
  EXPECT_EQ(foretold.outcome.peaks.reserved.bytes, kReserved);
}

}  // namespace
}  // namespace memplan
