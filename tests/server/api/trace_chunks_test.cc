#include "server/services/trace_chunks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/base/reason.h"
#include "tests/support/status_matchers.h"

namespace memplan::testing {
namespace {

TEST(AppendTraceChunkTest, PutsChunksOneAfterTheOther) {
  std::string text;
  Bytes total;
  EXPECT_THAT(AppendTraceChunk("M\tlo", text, total), IsOk());
  EXPECT_THAT(AppendTraceChunk("ad\n", text, total), IsOk());
  EXPECT_EQ(text, "M\tload\n");
  EXPECT_EQ(total, Bytes(7));
}

TEST(AppendTraceChunkTest, TakesWhatACallMaySendAndNoByteMore) {
  std::string text;
  Bytes total = kMaxCallTraceBytes - Bytes(3);
  EXPECT_EQ(ReasonOf(AppendTraceChunk("four", text, total)), "TRACE_TOO_LARGE");
  EXPECT_EQ(text, "");
  EXPECT_EQ(total, kMaxCallTraceBytes - Bytes(3));
  EXPECT_THAT(AppendTraceChunk("all", text, total), IsOk());
}

}  // namespace
}  // namespace memplan::testing
