// Symbolic traces of the real recordings: given back exactly, and predicting the
// requests of batches at least three times as large.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/trace/instantiation.h"
#include "planner/trace/symbolic_trace.h"
#include "tests/planner/trace/recorded_plans.h"
#include "tests/support/recorded_traces.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::PlansIn;
using ::memplan::testing::ReadRecorded;
using ::memplan::testing::RecordedTrace;
using ::memplan::testing::RecordedTracesIn;

using ModelAndMode = std::pair<std::string, std::string>;

Shape Batch(int64_t value) { return {{"batch", value}}; }

// The recorded traces by batch.
std::map<int64_t, Trace> TracesOf(const ModelAndMode& of) {
  std::map<int64_t, Trace> traces;
  for (const RecordedTrace& recorded : RecordedTracesIn("")) {
    if (ModelAndMode(recorded.model, recorded.mode) == of) {
      traces[recorded.batch] = ReadRecorded(recorded);
    }
  }
  return traces;
}

int64_t PeakRequested(const RequestStream& stream) {
  std::vector<int64_t> live(stream.block_count);
  int64_t now = 0;
  int64_t peak = 0;
  for (const Request& request : stream.requests) {
    if (request.kind == RequestKind::kAlloc) {
      live[request.block] = request.bytes;
      peak = std::max(peak, now += request.bytes);
    } else if (request.kind == RequestKind::kFree) {
      now -= live[request.block];
    }
  }
  return peak;
}

class PredictionTest : public ::testing::TestWithParam<ModelAndMode> {};

TEST_P(PredictionTest, GivesRecordingsBackAndPredictsRequestsWithKnownScratch) {
  const std::map<int64_t, Trace> traces = TracesOf(GetParam());
  for (const auto& [small, large] :
       {std::pair<int64_t, int64_t>(8, 16), {16, 32}}) {
    const std::vector<Recording> recordings = {
        {Batch(small), &traces.at(small)}, {Batch(large), &traces.at(large)}};
    const auto symbolic = MakeSymbolicTrace(recordings);
    ASSERT_THAT(symbolic, IsOk());
    Instantiator instantiator(*symbolic);
    RequestStream stream;
    for (const int64_t batch : {small, large}) {
      ASSERT_THAT(instantiator.Run(Batch(batch), {}, stream), IsOk());
      EXPECT_EQ(stream.requests, StreamOf(traces.at(batch)).requests) << batch;
    }
    for (const auto& [batch, trace] : traces) {
      if (batch < 3 * large) continue;
      const CallPlans plans = PlansIn(*symbolic, traces.at(large), trace);
      ASSERT_THAT(instantiator.Run(Batch(batch), {.plans = &plans}, stream),
                  IsOk());
      const auto truth = static_cast<double>(PeakRequested(StreamOf(trace)));
      const auto predicted = static_cast<double>(PeakRequested(stream));
      EXPECT_NEAR(predicted / truth, 1, 0.0001)
          << "batch " << batch << " from " << small << ", " << large;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Recorded, PredictionTest,
    ::testing::Values(
        ModelAndMode("resnet50", "infer"), ModelAndMode("resnet50", "sgd"),
        ModelAndMode("resnet50", "adam"), ModelAndMode("resnet50", "adam_amp"),
        ModelAndMode("vit", "infer"), ModelAndMode("vit", "sgd"),
        ModelAndMode("vit", "adam"), ModelAndMode("vit", "adam_amp"),
        ModelAndMode("gpt2", "infer"), ModelAndMode("gpt2", "sgd"),
        ModelAndMode("gpt2", "adam"), ModelAndMode("gpt2", "adam_amp")),
    [](const auto& test) {
      return test.param.first + "_" + test.param.second;
    });

}  // namespace
}  // namespace memplan
