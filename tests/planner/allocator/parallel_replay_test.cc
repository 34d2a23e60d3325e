// Replays side by side, each with an allocator of its own, over one trace: what
// the thread sanitizer looks at.
#include <cstddef>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/allocator/address_source.h"
#include "planner/allocator/replay.h"
#include "planner/base/format.h"
#include "tests/support/recorded_traces.h"

namespace memplan {
namespace {

using ::memplan::testing::ReadRecorded;
using ::memplan::testing::RecordedTracesIn;

TEST(ParallelReplayTest, SharesNothingButTheTrace) {
  constexpr size_t kThreads = 4;
  const Trace trace = ReadRecorded(RecordedTracesIn("").front());
  std::vector<Bytes> reserved(kThreads);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&trace, &peak = reserved[i]] {
        for (int run = 0; run < 3; ++run) {
          DescendingAddresses addresses;
          const auto report = ReplayTrace(trace, {}, addresses);
          if (report.ok()) peak = report->peaks.reserved.bytes;
        }
      });
    }
  }
  EXPECT_GT(reserved[0], Bytes(0));
  EXPECT_THAT(reserved, ::testing::Each(reserved[0]));
}

}  // namespace
}  // namespace memplan
