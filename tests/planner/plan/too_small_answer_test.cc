// A recorded probe whose answer was once too small: the U-Net with AdamW and
// bfloat16 casts under 8 GiB answered 47, and 48 runs as well.
//
// At 48 the backward pass of a convolution is refused scratch and does with
// little. Run alone at 48, it was not refused scratch then: the second of its two
// scratches lies in the segment of the first (call_events_test.cc). So the planner
// took its refusal for the end. The recording is of the worker that refuses both.
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
using ::memplan::testing::RecordedProbe;
using ::memplan::testing::RunFastSearch;
using ::testing::ElementsAre;

constexpr Bytes kCap = GiB(8);
constexpr int64_t kAnswer = 48;  // 49 ran out of memory
// What the run of 48 held at most.
constexpr Bytes kAllocated(8081969152);
constexpr Bytes kReserved(8560574464);

AllocatorConditions Capped() {
  AllocatorConditions conditions;
  conditions.cap = kCap;
  return conditions;
}

// The card as it was recorded.
class Card : public DeviceProgram {
 public:
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

FastRun Search(const DeviceProgram& program) {
  FastSearchOptions options;
  options.conditions = Capped();
  return RunFastSearch(options, CappedDevice(program, kCap));
}

TEST(TooSmallAnswerTest, TheAnswersRunIsReplayedToTheByte) {
  const Trace trace = Card().TraceAt(kAnswer);
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

TEST(TooSmallAnswerTest, TheAnswerIsTheLargestThatRuns) {
  const FastRun run = Search(Card());
  EXPECT_EQ(run.answer.safe_batch, kAnswer);
  EXPECT_THAT(run.Batches(), ElementsAre(8, 32, kAnswer));
  ASSERT_FALSE(run.foretold.empty());
  const PredictedBatch& foretold = run.foretold.back().safe;
  EXPECT_EQ(foretold.batch, kAnswer);
  EXPECT_EQ(foretold.outcome.peaks.allocated.bytes, kAllocated);
  EXPECT_EQ(foretold.outcome.peaks.reserved.bytes, kReserved);
}

}  // namespace
}  // namespace memplan
