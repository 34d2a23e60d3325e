// The real traces, read and written again.
#include "tests/support/recorded_traces.h"

#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/trace/text_format.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::AllRecordedTraces;
using ::memplan::testing::IsOk;
using ::memplan::testing::ReadRecorded;
using ::memplan::testing::ReadRecordedText;
using ::memplan::testing::RecordedTrace;

TEST(RecordedTracesTest, AreAllThere) {
  EXPECT_EQ(AllRecordedTraces().size(), 144);
}

TEST(RecordedTracesTest, AreWrittenAsTheyWereRead) {
  for (const RecordedTrace& recorded : AllRecordedTraces()) {
    const std::string text = ReadRecordedText(recorded);
    const auto trace = ReadTraceText(text);
    ASSERT_THAT(trace, IsOk()) << recorded.file;
    EXPECT_TRUE(WriteTraceText(*trace) == text) << recorded.file;
  }
}

TEST(RecordedTracesTest, SayWhichOperatorAsked) {
  for (const RecordedTrace& recorded : AllRecordedTraces()) {
    const Trace trace = ReadRecorded(recorded);
    int64_t without = 0;
    for (const TraceBlock& block : trace.blocks) {
      if (trace.events[block.alloc].depth == 0) ++without;
    }
    EXPECT_EQ(without, 0) << recorded.file;
  }
}

}  // namespace
}  // namespace memplan
