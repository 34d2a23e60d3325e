#include "server/workers/trace_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <vector>

#include "planner/base/format.h"
#include "server/workers/live_blocks.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace memplan {
namespace {

using gpu::kTraceNamesBytes;
using gpu::kTraceNamesOffset;
using gpu::kTraceRecordsOffset;
using gpu::TraceEvent;
using gpu::TraceHeader;
using gpu::TraceRecord;
using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;
using ::memplan::testing::TempDir;
using ::testing::HasSubstr;

TraceRecord Record(TraceEvent event, uint64_t address, uint64_t bytes,
                   uint32_t name = gpu::kNoName) {
  return {event, 0, 0, name, bytes, address, 0};
}

// A trace in memory as a worker writes it, which a test then spoils.
class TraceMemoryTest : public ::testing::Test {
 protected:
  static constexpr size_t kRoom = 100;  // records

  TraceMemoryTest() {
    header_.magic = gpu::kTraceMagic;
    header_.version = gpu::kTraceVersion;
    Name("load");
    Name("step");
    // 100 + 50 are live at most; 50 stay.
    records_ = {Record(TraceEvent::kPhase, 0, 0, 1),
                Record(TraceEvent::kAlloc, 0x1000, 100),
                Record(TraceEvent::kAlloc, 0x2000, 50),
                Record(TraceEvent::kFreeRequested, 0x1000, 100),
                Record(TraceEvent::kFree, 0x1000, 100),
                Record(TraceEvent::kAlloc, 0x1000, 99)};
    header_.record_count = records_.size();
  }

  void Name(const std::string& name) {
    const auto length = static_cast<uint16_t>(name.size());
    names_.append(reinterpret_cast<const char*>(&length), sizeof(length));
    names_ += name;
    ++header_.name_count;
    header_.name_bytes = names_.size();
  }
  void Write() {
    Put(0, &header_, sizeof(header_));
    Put(kTraceNamesOffset, names_.data(), names_.size());
    Put(kTraceRecordsOffset, records_.data(),
        records_.size() * sizeof(TraceRecord));
  }
  void Put(size_t offset, const void* bytes, size_t size) {
    ASSERT_EQ(
        pwrite(memory_.descriptor(), bytes, size, static_cast<off_t>(offset)),
        static_cast<ssize_t>(size));
  }
  absl::StatusOr<TraceSummary> Read() {
    Write();
    return memory_.Read();
  }

  TraceMemory memory_ = *TraceMemory::Create(Bytes(
      static_cast<int64_t>(kTraceRecordsOffset + kRoom * sizeof(TraceRecord))));
  TraceHeader header_ = {};
  std::string names_;
  std::vector<TraceRecord> records_;
};

TEST_F(TraceMemoryTest, TellsTheLargestSumOfLiveBytes) {
  const auto summary = Read();
  ASSERT_THAT(summary, IsOk());
  EXPECT_EQ(summary->peak_requested, Bytes(150));
  EXPECT_EQ(summary->header.record_count, 6u);
  EXPECT_FALSE(summary->overflowed());
}

// 100 by nobody, then 50 and 40 of forward behind a nonzero, of which 50 go before
// the peak: 100 + 40 + 30.
TEST_F(TraceMemoryTest, TellsWhoMadeThePeakAndWhatOfItHangsOnContents) {
  Name("step0/forward");   // 2
  Name("aten::nonzero");   // 3
  Name("aten::linear");    // 4
  Name("step0/backward");  // 5
  const auto in = [](TraceRecord record, uint16_t depth) {
    record.depth = depth;
    return record;
  };
  records_ = {
      Record(TraceEvent::kAlloc, 0x1000, 100),
      Record(TraceEvent::kPhase, 0, 0, 2),
      in(Record(TraceEvent::kOperator, 0, 0, 3), 1),
      in(Record(TraceEvent::kAlloc, 0x2000, 50, 3), 1),
      in(Record(TraceEvent::kOperator, 0, 0, 4), 1),
      Record(TraceEvent::kFree, 0x2000, 50),
      in(Record(TraceEvent::kAlloc, 0x3000, 40, 4), 1),
      in(Record(TraceEvent::kFailedRequest, 0, 512, 4), 1),
      Record(TraceEvent::kPhase, 0, 0, 5),
      in(Record(TraceEvent::kOperator, 0, 0, 4), 1),
      in(Record(TraceEvent::kAlloc, 0x4000, 30, 4), 1),
      Record(TraceEvent::kFree, 0x3000, 40),
  };
  header_.record_count = records_.size();
  const auto summary = Read();
  ASSERT_THAT(summary, IsOk());
  EXPECT_EQ(summary->peak_requested, Bytes(170));
  const Attribution& attribution = summary->attribution;
  EXPECT_EQ(attribution.peak,
            (AttributedRequest{Bytes(30), "step0/backward", "aten::linear",
                               "aten::linear"}));
  EXPECT_EQ(attribution.last_refused,
            (AttributedRequest{Bytes(512), "step0/forward", "aten::linear",
                               "aten::linear"}));
  EXPECT_EQ(attribution.contents,
            (ContentsDependence{{"aten::nonzero"}, Bytes(40)}));
}

TEST_F(TraceMemoryTest, TellsThatRecordsOrNamesWereLost) {
  header_.records_lost = 1;
  EXPECT_TRUE(Read()->overflowed());
  header_.records_lost = 0;
  header_.names_lost = 1;
  EXPECT_TRUE(Read()->overflowed());
}

TEST_F(TraceMemoryTest, TakesAFullOne) {
  while (records_.size() < kRoom) {
    records_.push_back(Record(TraceEvent::kOperator, 0, 0, 0));
  }
  header_.record_count = kRoom;
  EXPECT_THAT(Read(), IsOk());
}

TEST_F(TraceMemoryTest, CannotBeResized) {
  EXPECT_NE(ftruncate(memory_.descriptor(), 0), 0);
  EXPECT_NE(ftruncate(memory_.descriptor(), 1 << 30), 0);
}

TEST_F(TraceMemoryTest, OfAWorkerThatWroteNothingIsNoTrace) {
  EXPECT_THAT(memory_.Read(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("magic number")));
}

struct SpoiltTrace {
  std::string name;
  std::function<void(TraceHeader&, std::vector<TraceRecord>&)> spoil;
  std::string message;
};

class SpoiltTraceTest : public TraceMemoryTest,
                        public ::testing::WithParamInterface<SpoiltTrace> {};

TEST_P(SpoiltTraceTest, IsRefused) {
  GetParam().spoil(header_, records_);
  EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kDataLoss,
                               HasSubstr(GetParam().message)));
}

using Records = std::vector<TraceRecord>;

INSTANTIATE_TEST_SUITE_P(
    Spoilt, SpoiltTraceTest,
    ::testing::ValuesIn<SpoiltTrace>({
        {"OtherMagic", [](TraceHeader& h, Records&) { h.magic += 1; },
         "magic number"},
        {"OtherVersion", [](TraceHeader& h, Records&) { h.version = 1; },
         "it has version 1, not 2"},
        {"MoreRecordsThanRoom",
         [](TraceHeader& h, Records&) { h.record_count = 101; },
         "counts 101 records, but has room for 100"},
        {"CountThatWrapsAround",
         [](TraceHeader& h, Records&) {
           h.record_count = uint64_t{1} << 59;  // times 32 is 0
         },
         "room for 100"},
        {"NamesPastTheirPlace",
         [](TraceHeader& h, Records&) { h.name_bytes = kTraceNamesBytes + 1; },
         "names pass their place"},
        {"MoreNamesThanBytes",
         [](TraceHeader& h, Records&) { h.name_count = 0xffff'ffff; },
         "name 2 passes"},
        {"FewerNamesThanBytes",
         [](TraceHeader& h, Records&) { h.name_count = 1; }, "bytes are left"},
        {"NameCutShort", [](TraceHeader& h, Records&) { h.name_bytes = 11; },
         "name 1 passes"},
        {"EventZero",
         [](TraceHeader&, Records& r) { r[1].event = TraceEvent{0}; },
         "record 1 has event 0"},
        {"EventUnknown",
         [](TraceHeader&, Records& r) { r[2].event = TraceEvent{11}; },
         "record 2 has event 11"},
        {"NameUnknown", [](TraceHeader&, Records& r) { r[0].name = 2; },
         "record 0 has name 2"},
        {"AllocatedTwice",
         [](TraceHeader&, Records& r) { r[2].address = 0x1000; },
         "record 2 hands out a block that is live already"},
        {"FreedTwice",
         [](TraceHeader&, Records& r) {
           r[3] = Record(TraceEvent::kFree, 0x1000, 100);
         },
         "record 4 frees a block that is not live"},
        {"EndlessBlock",
         [](TraceHeader&, Records& r) { r[1].bytes = 0xffff'ffff'ffff'ffff; },
         "record 1 hands out 18446744073709551615 bytes"},
    }),
    [](const auto& test) { return test.param.name; });

TEST_F(TraceMemoryTest, SurvivesEveryByteOfItsHeaderChanged) {
  Write();
  for (size_t at = 0; at < sizeof(TraceHeader); ++at) {
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      const auto byte = static_cast<char>(value);
      Put(at, &byte, 1);
      const auto summary = memory_.Read();
      EXPECT_TRUE(summary.ok() || absl::IsDataLoss(summary.status()));
      Put(0, &header_, sizeof(header_));
    }
  }
}

TEST_F(TraceMemoryTest, IsKeptAsFarAsItIsUsed) {
  TempDir temp;
  const auto summary = Read();
  ASSERT_THAT(summary, IsOk());
  const std::string path = temp.Path("1.trace");
  ASSERT_THAT(memory_.WriteTo(path, *summary), IsOk());
  std::ifstream file(path, std::ios::binary);
  const std::string kept{std::istreambuf_iterator<char>(file), {}};
  ASSERT_EQ(kept.size(), kTraceRecordsOffset + 6 * sizeof(TraceRecord));
  EXPECT_EQ(std::memcmp(kept.data(), &header_, sizeof(header_)), 0);
  EXPECT_EQ(kept.substr(kTraceNamesOffset, names_.size()), names_);
  EXPECT_EQ(std::memcmp(kept.data() + kTraceRecordsOffset, records_.data(),
                        records_.size() * sizeof(TraceRecord)),
            0);
}

TEST_F(TraceMemoryTest, SaysThatItCannotBeKept) {
  const auto summary = Read();
  ASSERT_THAT(summary, IsOk());
  EXPECT_THAT(memory_.WriteTo("/no/such/folder/1.trace", *summary),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("/no/such/folder/1.trace")));
}

TEST(LiveBlocksTest, TakesNoMoreBlocksThanItMay) {
  LiveBlocks blocks(2);
  EXPECT_THAT(blocks.Apply(Record(TraceEvent::kAlloc, 1, 1)), IsOk());
  EXPECT_THAT(blocks.Apply(Record(TraceEvent::kAlloc, 2, 1)), IsOk());
  EXPECT_THAT(blocks.Apply(Record(TraceEvent::kAlloc, 3, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(blocks.Apply(Record(TraceEvent::kFree, 1, 1)), IsOk());
  EXPECT_THAT(blocks.Apply(Record(TraceEvent::kAlloc, 3, 5)), IsOk());
  EXPECT_EQ(blocks.peak(), Bytes(6));
}

TEST(LiveBlocksTest, FreesWhatWasHandedOutWhateverTheFreeSays) {
  LiveBlocks blocks(2);
  EXPECT_THAT(blocks.Apply(Record(TraceEvent::kAlloc, 1, 10)), IsOk());
  EXPECT_THAT(blocks.Apply(Record(TraceEvent::kFree, 1, 999)), IsOk());
  EXPECT_THAT(blocks.Apply(Record(TraceEvent::kAlloc, 1, 11)), IsOk());
  EXPECT_EQ(blocks.peak(), Bytes(11));
}

}  // namespace
}  // namespace memplan
