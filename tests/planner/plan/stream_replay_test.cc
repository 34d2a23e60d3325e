#include "planner/plan/stream_replay.h"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/allocator/address_source.h"
#include "planner/allocator/conditions.h"

namespace memplan {
namespace {

Request Take(uint32_t block, Bytes bytes) {
  return {.bytes = bytes.count(), .block = block};
}
Request Free(uint32_t block) {
  return {.block = block, .kind = RequestKind::kFree};
}

RequestStream StreamWith(std::vector<Request> requests) {
  RequestStream stream;
  stream.requests = std::move(requests);
  stream.events.resize(stream.requests.size(), kNoId);
  stream.streams = {0};
  for (const Request& request : stream.requests) {
    stream.block_count = std::max(stream.block_count, request.block + 1);
  }
  return stream;
}

StreamOutcome RunUnder(Bytes cap, const RequestStream& stream) {
  AllocatorConditions conditions;
  conditions.cap = cap;
  DescendingAddresses addresses;
  CachingAllocator allocator(conditions, addresses);
  return StreamReplay(allocator).Run(stream);
}

TEST(StreamReplayTest, ReportsPeaks) {
  // Segments of their own: 12 and 14 MiB, of which one is free at the end.
  const StreamOutcome outcome = RunUnder(
      MiB(100), StreamWith({Take(0, MiB(12)), Free(0), Take(1, MiB(14))}));
  EXPECT_TRUE(outcome.RunsAtEase());
  EXPECT_EQ(outcome.peaks.requested.bytes, MiB(14));
  EXPECT_EQ(outcome.peaks.requested.event, 2);
  EXPECT_EQ(outcome.peaks.reserved.bytes, MiB(26));
}

TEST(StreamReplayTest, EndsAtTheRequestThatFails) {
  const StreamOutcome outcome = RunUnder(
      MiB(20),
      StreamWith({Take(0, MiB(12)), Take(1, MiB(14)), Take(2, MiB(2))}));
  EXPECT_EQ(outcome.failed_request, 1);
  EXPECT_FALSE(outcome.ended_in_convolution);
  EXPECT_EQ(outcome.peaks.requested.bytes, MiB(12));
}

TEST(StreamReplayTest, PassesOverBlocksOfNoBytes) {
  const StreamOutcome outcome =
      RunUnder(MiB(20), StreamWith({Take(0, Bytes(0)), Free(0)}));
  EXPECT_TRUE(outcome.Runs());
  EXPECT_EQ(outcome.peaks.reserved.bytes, Bytes(0));
}

TEST(StreamReplayTest, CountsRetriesOfTheLastStepApart) {
  // In each step 12 MiB have to go back to make room for 14, and the other way.
  RequestStream stream = StreamWith(
      {Take(0, MiB(12)), Free(0), Take(1, MiB(14)), Free(1), Take(2, MiB(12)),
       Take(3, MiB(2)), Free(2), Take(4, MiB(14)), Free(4)});
  stream.phases = {{0, 0, true}, {4, 1, true}, {9, 2, false}};
  const StreamOutcome outcome = RunUnder(MiB(34), stream);
  EXPECT_TRUE(outcome.Runs());
  // 12 + 14 = 26; 2 MiB more take a segment of 20, for which both go back.
  EXPECT_GE(outcome.retries, 1);
  EXPECT_EQ(outcome.steady_retries, outcome.retries);
  EXPECT_FALSE(outcome.RunsAtEase());
  // A part of a step, as step1/optimizer, does not end it.
  stream.phases = {
      {0, 0, true}, {4, 1, true}, {9, 2, true, true}, {10, 3, false}};
  EXPECT_EQ(RunUnder(MiB(34), stream).steady_retries, outcome.retries);

  stream.phases = {{0, 0, true}, {9, 1, true}};
  EXPECT_EQ(RunUnder(MiB(34), stream).steady_retries, 0);
}

// An output of 12 MiB, then scratch of 40; when that is refused, of 14.
RequestStream ConvolutionStream() {
  RequestStream stream =
      StreamWith({Take(0, MiB(12)), Take(2, MiB(40)), Free(2), Take(1, MiB(2)),
                  Free(0), Free(1)});
  stream.calls = {{.requests = {0, 3},
                   .call = 0,
                   .plans = 0,
                   .is_convolution = true,
                   .alternatives = {0, 1}}};
  stream.alternatives = {{0, 3}};
  stream.alternative_requests = {Take(0, MiB(12)), Take(2, MiB(14)), Free(2)};
  return stream;
}

TEST(StreamReplayTest, LetsAConvolutionTakeItsNextPlan) {
  const StreamOutcome roomy = RunUnder(MiB(100), ConvolutionStream());
  EXPECT_EQ(roomy.caught_failures, 0);
  EXPECT_EQ(roomy.peaks.requested.bytes, MiB(52));
  const StreamOutcome tight = RunUnder(MiB(50), ConvolutionStream());
  EXPECT_TRUE(tight.Runs());
  EXPECT_EQ(tight.caught_failures, 1);
  EXPECT_EQ(tight.peaks.requested.bytes, MiB(26));
}

TEST(StreamReplayTest, EndsWhenAConvolutionKnowsNoOtherPlan) {
  const StreamOutcome outcome = RunUnder(MiB(20), ConvolutionStream());
  EXPECT_FALSE(outcome.Runs());
  EXPECT_TRUE(outcome.ended_in_convolution);
  EXPECT_TRUE(outcome.ended_in_scratch);
  EXPECT_EQ(outcome.refused_plans, 2);
}

// No plan does without the output.
TEST(StreamReplayTest, TellsScratchFromAnOutput) {
  const StreamOutcome outcome = RunUnder(MiB(10), ConvolutionStream());
  EXPECT_TRUE(outcome.ended_in_convolution);
  EXPECT_FALSE(outcome.ended_in_scratch);
}

TEST(StreamReplayTest, KeepsAPlanInLaterStepsAndForgetsItInTheNextRun) {
  RequestStream stream = ConvolutionStream();
  // The same call once more.
  const std::vector<Request> again = {Take(0, MiB(12)), Take(2, MiB(40)),
                                      Free(2), Free(0)};
  stream.requests.insert(stream.requests.end(), again.begin(), again.end());
  stream.calls.push_back(stream.calls[0]);
  stream.calls[1].requests = {6, 9};
  AllocatorConditions conditions;
  conditions.cap = MiB(50);
  DescendingAddresses addresses;
  CachingAllocator allocator(conditions, addresses);
  StreamReplay replay(allocator);
  for (int run = 0; run < 2; ++run) {
    const StreamOutcome outcome = replay.Run(stream);
    EXPECT_TRUE(outcome.Runs());
    EXPECT_EQ(outcome.caught_failures, 1);
  }
}

TEST(StreamReplayTest, GivesBackWhatTheRefusedPlanHadTaken) {
  RequestStream stream = ConvolutionStream();
  // First 12 MiB of scratch, then 40 that are refused; the next plan needs 30.
  stream.requests = {Take(0, MiB(12)), Take(2, MiB(12)), Take(3, MiB(40)),
                     Free(3),          Free(2),          Free(0)};
  stream.block_count = 4;
  stream.calls[0].requests = {0, 5};
  stream.alternative_requests = {Take(0, MiB(12)), Take(2, MiB(30)), Free(2)};
  const StreamOutcome outcome = RunUnder(MiB(44), stream);
  EXPECT_TRUE(outcome.Runs());
  EXPECT_EQ(outcome.peaks.requested.bytes, MiB(42));
}

}  // namespace
}  // namespace memplan
