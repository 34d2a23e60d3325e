#include "planner/plan/recording_choice.h"

#include <cstdint>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "planner/plan/scaled_recording.h"
#include "tests/planner/trace/small_trace.h"

namespace memplan {
namespace {

using ::memplan::testing::SmallTrace;

struct Choice {
  std::string what;
  RecordingState state;
  std::optional<int64_t> next;
};

TEST(NextToRecordTest, AdaptsToWhatFitsAndWhatIsAllowed) {
  const Choice choices[] = {
      {"the first", {}, 8},
      {"the caller's first", {.first_batch = 64}, 64},
      {"8 is more than two thirds of 8", {.max_batch = 8}, 5},
      {"nothing else is allowed", {.max_batch = 1}, 1},
      {"8 does not fit", {.failed = {8}}, 1},
      {"1 does not either", {.failed = {1, 8}}, std::nullopt},
      {"the second", {.recorded = {8}}, 32},
      {"the second of a large one", {.recorded = {64}}, 128},
      {"up to the limit", {.max_batch = 20, .recorded = {8}}, 20},
      {"up to memory", {.recorded = {8}, .likely_to_fit = 27}, 27},
      {"32 did not fit", {.recorded = {8}, .failed = {32}}, 16},
      {"16 did not either", {.recorded = {8}, .failed = {16, 32}}, 12},
      {"nothing above is enough larger",
       {.recorded = {8}, .failed = {12, 16, 32}},
       5},
      {"memory allows 10", {.recorded = {8}, .likely_to_fit = 10}, 5},
      {"8 was above the budget", {.recorded = {8}, .likely_to_fit = 3}, 3},
      {"above 1", {.recorded = {1}, .failed = {8}}, 2},
      {"above 1, with memory for 6",
       {.recorded = {1}, .failed = {8}, .likely_to_fit = 6},
       6},
      {"1 and no more", {.recorded = {1}, .failed = {2, 8}}, std::nullopt},
      {"two are enough", {.recorded = {8, 32}}, std::nullopt},
  };
  for (const Choice& choice : choices) {
    EXPECT_EQ(NextToRecord(choice.state), choice.next) << choice.what;
  }
}

constexpr int64_t kMiB = int64_t{1} << 20;

// 40 MiB of weights, as much of gradients, which each step makes, and 80 MiB of
// an activation, at batch 8.
Trace StepAt8() {
  const std::string weights = std::to_string(40 * kMiB);
  return SmallTrace("M load | O 1 aten::empty | A w " + weights +
                    " | M step0 | O 1 aten::mm | A y " +
                    std::to_string(80 * kMiB) + " | O 1 aten::mm | A g " +
                    weights + " | O 1 aten::zero_ | D y | D g | M end");
}

TEST(ScaledRecordingTest, LetsAllGrowButWhatIsOfAWeightsSize) {
  // 80 + 10·b MiB in 95 % of the cap.
  AllocatorConditions conditions;
  conditions.cap = MiB(400);
  for (const bool has_segments : {true, false}) {
    ScaledRecording scaled(StepAt8(), 8, conditions, has_segments);
    EXPECT_EQ(scaled.LargestLikelyToFit(64), 30);
    EXPECT_EQ(scaled.LargestLikelyToFit(20), 20);
  }
  conditions.cap = MiB(80);
  EXPECT_EQ(
      ScaledRecording(StepAt8(), 8, conditions, true).LargestLikelyToFit(64),
      0);
  conditions.cap.reset();
  EXPECT_EQ(
      ScaledRecording(StepAt8(), 8, conditions, true).LargestLikelyToFit(64),
      64);
}

}  // namespace
}  // namespace memplan
