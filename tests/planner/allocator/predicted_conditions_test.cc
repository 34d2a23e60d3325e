// Other conditions, predicted from the requests and frees of the default
// recording alone, with invented addresses in several orders.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
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

TEST(PredictedConditionsTest, DefaultsForetellEverySetting) {
  int right = 0;
  int in_band = 0;
  std::vector<RecordedTrace> all = RecordedTracesIn("settings");
  for (const RecordedTrace& base : all) {
    if (base.file.find("default") == std::string::npos) continue;
    const Trace trace = ReadRecorded(base);
    for (const RecordedTrace& recorded : all) {
      if (recorded.model != base.model || recorded.mode != base.mode ||
          recorded.file == base.file) {
        continue;
      }
      const Prediction prediction = Predict(trace, recorded);
      const bool fits = recorded.end == "ok";
      const bool is_right = prediction.fits == (fits ? kOrderCount : 0);
      const Bytes truth(recorded.peak_reserved_bytes);
      const bool is_in_band = prediction.least_reserved <= truth &&
                              truth <= prediction.most_reserved;
      right += is_right ? 1 : 0;
      in_band += is_in_band ? 1 : 0;
      std::cout << recorded.file << " " << recorded.end << " fits in "
                << prediction.fits << " of " << kOrderCount << ", reserved "
                << truth.count() << " in " << prediction.least_reserved.count()
                << " … " << prediction.most_reserved.count()
                << (is_right ? "" : "  WRONG END")
                << (is_in_band ? "" : "  OUTSIDE") << "\n";
    }
  }
  EXPECT_EQ(right, 40);
  EXPECT_GE(in_band, 39);
}

TEST(PredictedConditionsTest, DefaultForetellsCaps) {
  for (const RecordedTrace& base : RecordedTracesIn("")) {
    if (base.model != "resnet50" || base.batch != 64) continue;
    const Trace trace = ReadRecorded(base);
    for (const RecordedTrace& recorded : RecordedTracesIn("caps")) {
      if (recorded.mode != base.mode) continue;
      const Prediction prediction = Predict(trace, recorded);
      std::cout << recorded.file << " " << recorded.end << " fits in "
                << prediction.fits << " of " << kOrderCount << ", reserved "
                << recorded.peak_reserved_bytes << " in "
                << prediction.least_reserved.count() << " … "
                << prediction.most_reserved.count() << "\n";
    }
  }
}

TEST(PredictedConditionsTest, OrdersOfDefaults) {
  for (const std::string_view order : kOrders) {
    int exact = 0;
    int count = 0;
    for (const RecordedTrace& recorded : RecordedTracesIn("")) {
      const Trace trace = ReadRecorded(recorded);
      const auto addresses = MakeAddressSource(order);
      CachingAllocator allocator({}, **addresses);
      const auto report = TraceReplay(allocator).Run(trace);
      ASSERT_THAT(report, IsOk());
      ++count;
      if (report->peaks.reserved.bytes == Bytes(recorded.peak_reserved_bytes)) {
        ++exact;
      }
    }
    std::cout << order << ": " << exact << " of " << count << "\n";
  }
}

}  // namespace
}  // namespace memplan
