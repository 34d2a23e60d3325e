// Fast searches of random programs under random caps: the answer is always one
// that ran and below every failure, and nearly always the right one, within four
// runs.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "planner/plan/fast_search.h"
#include "tests/planner/plan/fast_search_run.h"
#include "tests/planner/plan/simulated_program.h"

namespace memplan {
namespace {

using ::memplan::testing::CappedDevice;
using ::memplan::testing::FastRun;
using ::memplan::testing::Layer;
using ::memplan::testing::RunFastSearch;
using ::memplan::testing::Scratch;
using ::memplan::testing::ScratchKind;
using ::memplan::testing::SimulatedProgram;

constexpr int kSearches = 120;
// More is never right in these searches.
constexpr int64_t kMostSamples = 300;

class RandomPrograms {
 public:
  explicit RandomPrograms(uint64_t seed) : random_(seed) {}

  int64_t Between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  SimulatedProgram Draw() {
    std::vector<Layer> layers;
    for (int64_t i = Between(2, 10); i > 0; --i) {
      Layer layer;
      layer.weight_bytes = Between(1, 1 << 25);
      layer.output_bytes = Between(4, 1 << 21);
      layer.is_convolution = Between(0, 2) > 0;
      if (layer.is_convolution) {
        layer.forward = DrawScratch(layer);
        layer.backward = DrawScratch(layer);
      }
      layers.push_back(layer);
    }
    return SimulatedProgram(layers);
  }

 private:
  Scratch DrawScratch(const Layer& layer) {
    Scratch scratch;
    scratch.kind = static_cast<ScratchKind>(Between(0, 4));
    scratch.bytes = Between(512, 2 * layer.output_bytes + 512);
    scratch.threshold = Between(20, 300);
    return scratch;
  }

  std::mt19937_64 random_;
};

// That of a batch in the range, so that all answers are equally likely.
Bytes CapForABatch(RandomPrograms& draw, const SimulatedProgram& program) {
  const RequestStream stream =
      StreamOf(program.TraceAt(draw.Between(1, kMostSamples - 100)));
  ChunkAddresses addresses;
  CachingAllocator allocator({}, addresses);
  const StreamOutcome outcome = StreamReplay(allocator).Run(stream);
  return outcome.peaks.reserved.bytes;
}

struct Tally {
  int right = 0;
  int within_four = 0;
  int fell_back = 0;
  int64_t trials = 0;
  int64_t ooms = 0;
};

TEST(FastSearchPropertyTest, FindsTheSafeBatchOfRandomPrograms) {
  RandomPrograms draw(20261130);
  Tally tally;
  for (int i = 0; i < kSearches; ++i) {
    const SimulatedProgram program = draw.Draw();
    const CappedDevice device(program, CapForABatch(draw, program));
    FastSearchOptions options;
    options.search.max_batch = kMostSamples;
    const FastRun run = RunFastSearch(options, device);
    const int64_t right = device.SafeBatch(kMostSamples);
    ASSERT_GT(right, 0);
    ASSERT_EQ(run.answer.end, SearchEnd::kFound);
    EXPECT_TRUE(device.Runs(run.answer.safe_batch));
    EXPECT_GE(run.answer.verifying_trials, 1);
    for (const Trial& trial : run.trials) {
      if (trial.outcome == TrialOutcome::kOutOfMemory) {
        EXPECT_GT(trial.batch, run.answer.safe_batch);
      }
    }
    tally.right += run.answer.safe_batch == right;
    tally.within_four += run.fell_back.empty() && run.trials.size() <= 4;
    tally.fell_back += !run.fell_back.empty();
    tally.trials += std::ssize(run.trials);
    tally.ooms += run.OutOfMemoryCount();
  }
  std::printf(
      "%d searches: right %d, within four trials %d, fell back %d, %.2f trials "
      "and %.3f out of memory in the mean\n",
      kSearches, tally.right, tally.within_four, tally.fell_back,
      static_cast<double>(tally.trials) / kSearches,
      static_cast<double>(tally.ooms) / kSearches);
  EXPECT_GE(tally.right, kSearches * 97 / 100);
  EXPECT_GE(tally.within_four, kSearches * 90 / 100);
  EXPECT_LE(tally.ooms, kSearches / 10);
}

}  // namespace
}  // namespace memplan
