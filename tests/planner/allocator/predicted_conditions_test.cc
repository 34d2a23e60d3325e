// Other conditions, predicted from the requests and frees of the default
// recording alone, with invented addresses in several orders.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/allocator/address_source.h"
#include "planner/allocator/caching_allocator.h"
#include "planner/allocator/replay.h"
#include "tests/planner/allocator/sample_conditions.h"
#include "tests/support/recorded_traces.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::ConditionsOf;
using ::memplan::testing::IsOk;
using ::memplan::testing::ReadRecorded;
using ::memplan::testing::RecordedTrace;
using ::memplan::testing::RecordedTracesIn;

constexpr std::string_view kOrders[] = {
    "descending", "ascending", "chunks",   "random:1", "random:2",
    "random:3",   "random:4",  "random:5", "random:6", "random:7"};

// What all orders say of one condition.
struct Prediction {
  int fits = 0;
  Bytes least_reserved = kUnbounded;
  Bytes most_reserved;
};

Prediction Predict(const Trace& trace, const RecordedTrace& recorded) {
  Prediction prediction;
  for (const std::string_view order : kOrders) {
    const auto addresses = MakeAddressSource(order);
    EXPECT_THAT(addresses, IsOk());
    CachingAllocator allocator(ConditionsOf(recorded), **addresses);
    const auto report = TraceReplay(allocator).Run(trace);
    EXPECT_THAT(report, IsOk());
    if (report->end == ReplayEnd::kOk) ++prediction.fits;
    const Bytes reserved = report->peaks.reserved.bytes;
    prediction.least_reserved = std::min(prediction.least_reserved, reserved);
    prediction.most_reserved = std::max(prediction.most_reserved, reserved);
  }
  return prediction;
}

constexpr int kOrderCount = static_cast<int>(std::size(kOrders));

// How many of some predictions came true.
struct Score {
  int right_ends = 0;
  int in_band = 0;
  int count = 0;

  void Add(const Prediction& prediction, const RecordedTrace& recorded) {
    const bool fits = recorded.end == "ok";
    const Bytes truth(recorded.peak_reserved_bytes);
    right_ends += prediction.fits == (fits ? kOrderCount : 0) ? 1 : 0;
    in_band +=
        prediction.least_reserved <= truth && truth <= prediction.most_reserved
            ? 1
            : 0;
    ++count;
  }
};

bool IsDefault(const RecordedTrace& recorded) {
  return recorded.settings.empty() && !recorded.cap_bytes.has_value();
}

TEST(PredictedConditionsTest, DefaultsForetellEverySetting) {
  Score score;
  const std::vector<RecordedTrace> all = RecordedTracesIn("settings");
  for (const RecordedTrace& base : all) {
    if (!IsDefault(base)) continue;
    const Trace trace = ReadRecorded(base);
    for (const RecordedTrace& recorded : all) {
      if (recorded.model == base.model && recorded.mode == base.mode &&
          !IsDefault(recorded)) {
        score.Add(Predict(trace, recorded), recorded);
      }
    }
  }
  EXPECT_EQ(score.count, 40);
  EXPECT_EQ(score.right_ends, 40);
  EXPECT_EQ(score.in_band, 40);
}

TEST(PredictedConditionsTest, DefaultsForetellTightCaps) {
  Score score;
  for (const RecordedTrace& base : RecordedTracesIn("")) {
    if (base.model != "resnet50" || base.batch != 64) continue;
    const Trace trace = ReadRecorded(base);
    for (const RecordedTrace& recorded : RecordedTracesIn("caps")) {
      if (recorded.mode == base.mode) {
        score.Add(Predict(trace, recorded), recorded);
      }
    }
  }
  EXPECT_EQ(score.count, 12);
  EXPECT_EQ(score.right_ends, 12);
  EXPECT_EQ(score.in_band, 12);
}

TEST(PredictedConditionsTest, SegmentsDoNotMatterWhereTheyExpand) {
  for (const RecordedTrace& recorded : RecordedTracesIn("settings")) {
    if (recorded.settings != "expandable_segments:True") continue;
    const Prediction prediction = Predict(ReadRecorded(recorded), recorded);
    EXPECT_EQ(prediction.least_reserved, prediction.most_reserved);
  }
}

// Of the 88 default recordings, how many peaks an order of addresses gives
// exactly.
int ExactDefaults(std::string_view order) {
  const auto addresses = MakeAddressSource(order);
  EXPECT_THAT(addresses, IsOk());
  CachingAllocator allocator({}, **addresses);
  TraceReplay replay(allocator);
  int exact = 0;
  for (const RecordedTrace& recorded : RecordedTracesIn("")) {
    const auto report = replay.Run(ReadRecorded(recorded));
    EXPECT_THAT(report, IsOk());
    const Bytes truth(recorded.peak_reserved_bytes);
    exact += report->peaks.reserved.bytes == truth ? 1 : 0;
  }
  return exact;
}

TEST(PredictedConditionsTest, OrdersGiveMostDefaultsExactly) {
  EXPECT_EQ(ExactDefaults("descending"), 85);
  EXPECT_EQ(ExactDefaults("chunks"), 86);
}

}  // namespace
}  // namespace memplan
