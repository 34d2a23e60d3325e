// Whole fast searches of the recorded programs, under caps that put the answer
// at many places: what a search of them on the device takes, and whether it finds
// the right batch. Operator results are what the calls took in the recordings.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <vector>

#include "gtest/gtest.h"
#include "planner/plan/fast_search.h"
#include "tests/planner/plan/fast_search_run.h"
#include "tests/planner/plan/recorded_device.h"
#include "tests/planner/plan/recorded_programs.h"

namespace memplan {
namespace {

using ::memplan::testing::CappedDevice;
using ::memplan::testing::FastRun;
using ::memplan::testing::RecordedDevice;
using ::memplan::testing::RecordedProgram;
using ::memplan::testing::RecordedPrograms;
using ::memplan::testing::RunFastSearch;

// Batches whose reserved peak is the cap.
constexpr int64_t kAnswersNear[] = {3, 21, 110, 220};
// Smaller batches that must run for an answer to be right.
constexpr int64_t kChecked = 16;

AllocatorPeaks PeaksOf(const RecordedDevice& device, int64_t batch,
                       std::optional<Bytes> cap = std::nullopt) {
  AllocatorConditions conditions;
  conditions.cap = cap;
  ChunkAddresses addresses;
  CachingAllocator allocator(conditions, addresses);
  return StreamReplay(allocator).Run(device.StreamAt(batch)).peaks;
}

bool IsRight(const CappedDevice& device, int64_t answer) {
  for (int64_t batch = std::max<int64_t>(answer - kChecked, 1); batch <= answer;
       ++batch) {
    if (!device.Runs(batch)) return false;
  }
  return !device.Runs(answer + 1);
}

double WidthOf(const PeakRange& range) {
  return static_cast<double>((range.most - range.least).count()) /
         static_cast<double>(range.most.count());
}

// The intervals of batches that had not run yet, all searches together.
struct Intervals {
  std::vector<double> allocated_widths;
  std::vector<double> reserved_widths;
  int missed = 0;

  void Add(const PredictedAnswer& foretold, const AllocatorPeaks& truth) {
    const PeakInterval& interval = foretold.safe_interval.value();
    missed += !interval.allocated.Holds(truth.allocated.bytes) ||
              !interval.reserved.Holds(truth.reserved.bytes);
    allocated_widths.push_back(WidthOf(interval.allocated));
    reserved_widths.push_back(WidthOf(interval.reserved));
  }
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.at(values.size() / 2);
}

struct Tally {
  int searches = 0;
  int right = 0;
  int within_four = 0;
  int three = 0;
  int fell_back = 0;
  int64_t trials = 0;
  int64_t ooms = 0;
  int64_t call_orders = 0;
  int64_t decisions = 0;
  double decision_seconds = 0;
};

TEST(FastSearchTracesTest, FindsTheSafeBatchOfRecordedPrograms) {
  Tally tally;
  Intervals intervals;
  for (const RecordedProgram& program : RecordedPrograms()) {
    const RecordedDevice device(program);
    for (const int64_t batch : kAnswersNear) {
      const CappedDevice capped(device, PeaksOf(device, batch).reserved.bytes);
      const FastRun run = RunFastSearch({}, capped);
      for (const PredictedAnswer& foretold : run.foretold) {
        intervals.Add(foretold,
                      PeaksOf(device, foretold.safe.batch, capped.cap()));
      }
      const bool is_right = IsRight(capped, run.answer.safe_batch);
      ++tally.searches;
      tally.right += is_right;
      tally.within_four += run.fell_back.empty() && run.trials.size() <= 4;
      tally.three += run.fell_back.empty() && run.trials.size() <= 3;
      tally.fell_back += !run.fell_back.empty();
      tally.trials += std::ssize(run.trials);
      // The first recording is of 8.
      if (run.answer.safe_batch >= 8) tally.ooms += run.OutOfMemoryCount();
      tally.call_orders += std::ssize(run.call_batches);
      tally.decisions += run.decisions;
      tally.decision_seconds += run.decision_seconds;
    }
  }
  const auto mean = [&](int64_t sum) {
    return static_cast<double>(sum) / tally.searches;
  };
  std::printf(
      "%d searches: right %d, within four trials %d, within three %d, fell "
      "back "
      "%d; in the mean %.2f trials, calls run at %.2f batches; with an "
      "answer from 8 up %d out of memory; %.0f ms of CPU a search, %.1f a "
      "decision\n",
      tally.searches, tally.right, tally.within_four, tally.three,
      tally.fell_back, mean(tally.trials), mean(tally.call_orders),
      static_cast<int>(tally.ooms),
      1000 * tally.decision_seconds / tally.searches,
      1000 * tally.decision_seconds / static_cast<double>(tally.decisions));
  EXPECT_GE(100 * tally.right, 97 * tally.searches);
  EXPECT_GE(100 * tally.within_four, 90 * tally.searches);
  EXPECT_EQ(tally.ooms, 0);
  std::printf(
      "median width of intervals: allocated %.3f %%, reserved %.3f %%\n",
      100 * Median(intervals.allocated_widths),
      100 * Median(intervals.reserved_widths));
  EXPECT_EQ(intervals.missed, 0);
  EXPECT_LE(Median(intervals.allocated_widths), 0.02);
  EXPECT_LE(Median(intervals.reserved_widths), 0.02);
}

}  // namespace
}  // namespace memplan
