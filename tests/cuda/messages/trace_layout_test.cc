#include "cuda/worker/messages/trace_layout.h"

#include <cstring>
#include <string_view>

#include "gtest/gtest.h"

namespace memplan::gpu {
namespace {

TEST(TraceLayoutTest, BeginsWithReadableMagic) {
  char text[sizeof(kTraceMagic)];
  std::memcpy(text, &kTraceMagic, sizeof(text));
  EXPECT_EQ(std::string_view(text, sizeof(text)), "MMPTRCE1");
}

TEST(TraceLayoutTest, PartsFollowEachOther) {
  EXPECT_LE(sizeof(TraceHeader), kTraceNamesOffset);
  EXPECT_EQ(kTraceRecordsOffset, 4096U + 8'388'608U);
  EXPECT_EQ(kTraceRecordsOffset % alignof(TraceRecord), 0U);
}

}  // namespace
}  // namespace memplan::gpu
