// What holds of every symbolic trace, over random programs: it gives each
// recording back exactly, and what it gives elsewhere a program could ask for.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/trace/instantiation.h"
#include "planner/trace/symbolic_trace.h"
#include "tests/planner/trace/small_trace.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::SmallTrace;

Shape Batch(int64_t value) { return {{"batch", value}}; }

// The same program for the same `seed`, whatever the batch; but operators come
// and go, and scratch varies, by `noise`.
std::string RandomRun(uint32_t seed, uint32_t noise, int64_t batch) {
  static constexpr const char* kOperators[] = {"aten::mm", "aten::convolution",
                                               "aten::sum", "MulBackward0",
                                               "fused_add"};
  std::mt19937 program(seed);
  std::mt19937 random(noise);
  std::string text = "M load";
  std::vector<int> live;
  int blocks = 0;
  for (int i = 0; i < 40; ++i) {
    const uint32_t choice = program() % 8;
    const auto slope = static_cast<int64_t>(program() % 1000);
    const int depth = 1 + static_cast<int>(program() % 3);
    const char* name = kOperators[program() % 5];
    if (choice == 0) absl::StrAppend(&text, " | M step", i);
    if (random() % 8 != 0) absl::StrAppend(&text, " | O ", depth, " ", name);
    if (choice < 6) {
      absl::StrAppend(&text, " | A ", blocks, " ", 8 + slope * batch, " ",
                      name);
      live.push_back(blocks++);
    }
    if (random() % 3 == 0) {
      absl::StrAppend(&text, " | A t ", 1 + random() % 9000, " ", name,
                      " | D t");
    }
    if (choice > 4 && !live.empty()) {
      const size_t which = program() % live.size();
      absl::StrAppend(&text, " | D ", live[which]);
      live.erase(live.begin() + static_cast<int64_t>(which));
    }
  }
  return text + " | M end";
}

// Each block is asked for once, and freed once at most, later.
void ExpectPossible(const RequestStream& stream) {
  enum State { kNew, kLive, kFreed };
  std::vector<State> states(stream.block_count, kNew);
  for (const Request& request : stream.requests) {
    ASSERT_LT(request.block, stream.block_count);
    State& state = states[request.block];
    const bool is_alloc = request.kind == RequestKind::kAlloc;
    ASSERT_EQ(state, is_alloc ? kNew : kLive);
    ASSERT_GE(request.bytes, 0);
    state = is_alloc ? kLive : kFreed;
  }
  ASSERT_EQ(stream.events.size(), stream.requests.size());
  uint32_t end = 0;
  for (const StreamCall& call : stream.calls) {
    ASSERT_GE(call.requests.begin, end);
    ASSERT_GE(call.requests.end, call.requests.begin);
    end = call.requests.end;
  }
  ASSERT_LE(end, stream.requests.size());
}

TEST(SymbolicTracePropertyTest, HoldsForRandomPrograms) {
  int made = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Trace small = SmallTrace(RandomRun(seed, 2 * seed, 8));
    const Trace large = SmallTrace(RandomRun(seed, 2 * seed + 1, 16));
    const std::vector<Recording> recordings = {{Batch(8), &small},
                                               {Batch(16), &large}};
    const auto symbolic = MakeSymbolicTrace(recordings);
    if (!symbolic.ok()) continue;  // too different
    ++made;
    Instantiator instantiator(*symbolic);
    RequestStream stream;
    ASSERT_THAT(instantiator.Run(Batch(8), {}, stream), IsOk());
    EXPECT_EQ(stream.requests, StreamOf(small).requests) << seed;
    ASSERT_THAT(instantiator.Run(Batch(16), {}, stream), IsOk());
    EXPECT_EQ(stream.requests, StreamOf(large).requests) << seed;
    for (const int64_t batch : {1, 12, 100, 1 << 20}) {
      for (const ScratchScenario scenario : kAllScratchScenarios) {
        ASSERT_THAT(instantiator.Run(Batch(batch), {scenario}, stream), IsOk());
        ASSERT_NO_FATAL_FAILURE(ExpectPossible(stream)) << seed;
      }
    }
  }
  EXPECT_GE(made, 150);
}

}  // namespace
}  // namespace memplan
