#include "server/convert/recorded_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "cuda/worker/messages/trace_layout.h"
#include "planner/trace/text_format.h"
#include "tests/support/status_matchers.h"

namespace memplan::testing {
namespace {

using gpu::TraceEvent;
using gpu::TraceHeader;
using gpu::TraceRecord;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kBase = 0x7f00'0000'0000;

TraceRecord Record(TraceEvent event, uint16_t depth, uint32_t name,
                   uint64_t bytes, uint64_t address) {
  return {.event = event,
          .reserved = 0,
          .depth = depth,
          .name = name,
          .bytes = bytes,
          .address = address,
          .stream = 0};
}

class ReadRecordedTraceTest : public ::testing::Test {
 protected:
  std::string Bytes() const {
    std::string names;
    for (const std::string& name : names_) {
      const auto length = static_cast<uint16_t>(name.size());
      names.append(reinterpret_cast<const char*>(&length), sizeof(length));
      names.append(name);
    }
    TraceHeader header = header_;
    header.name_count = static_cast<uint32_t>(names_.size());
    header.name_bytes = names.size();
    header.record_count = records_.size();
    std::string bytes(gpu::kTraceRecordsOffset, '\0');
    std::memcpy(bytes.data(), &header, sizeof(header));
    names.copy(bytes.data() + gpu::kTraceNamesOffset, names.size());
    bytes.append(reinterpret_cast<const char*>(records_.data()),
                 records_.size() * sizeof(TraceRecord));
    return bytes;
  }

  TraceHeader header_ = {.magic = gpu::kTraceMagic,
                         .version = gpu::kTraceVersion,
                         .name_count = 0,
                         .name_bytes = 0,
                         .record_count = 0,
                         .records_lost = 0,
                         .names_lost = 0};
  std::vector<std::string> names_ = {"load", "aten::empty",
                                     "memory_format\t[4,2]\tfloat32[4]{1}"};
  std::vector<TraceRecord> records_ = {
      Record(TraceEvent::kPhase, 0, 0, 0, 0),
      Record(TraceEvent::kOperator, 1, 1, 0, 3),
      Record(TraceEvent::kSegmentAlloc, 1, 1, 2 << 20, kBase),
      Record(TraceEvent::kAlloc, 1, 1, 8, kBase),
      Record(TraceEvent::kFreeRequested, 0, gpu::kNoName, 8, kBase),
      Record(TraceEvent::kFree, 0, gpu::kNoName, 8, kBase),
  };
};

TEST_F(ReadRecordedTraceTest, ReadsWhatTheTextFormSays) {
  const auto trace = ReadRecordedTrace(Bytes());
  ASSERT_THAT(trace, IsOk());
  EXPECT_EQ(WriteTraceText(*trace),
            "M\tload\n"
            "O\t1\taten::empty\n"
            "G\tmemory_format\t[4,2]\tfloat32[4]{1}\n"
            "S\t2097152\t7f0000000000\n"
            "A\t8\t7f0000000000\taten::empty\n"
            "F\t7f0000000000\n"
            "D\t7f0000000000\n");
}

TEST_F(ReadRecordedTraceTest, IsToldByItsFirstBytes) {
  EXPECT_TRUE(IsRecordedTrace(Bytes()));
  EXPECT_FALSE(IsRecordedTrace("M\tload\n"));
  EXPECT_FALSE(IsRecordedTrace(""));
}

TEST_F(ReadRecordedTraceTest, LetsCallsThatAreAlikeShareTheirArguments) {
  records_.insert(records_.end(), 5, records_[1]);
  const auto trace = ReadRecordedTrace(Bytes());
  ASSERT_THAT(trace, IsOk());
  EXPECT_EQ(trace->signatures.signatures.size(), 6u);
  EXPECT_EQ(trace->signatures.arguments.size(), 2u);
}

TEST_F(ReadRecordedTraceTest, NamesTheRecordThatCannotBeTrue) {
  records_.push_back(records_.back());  // freed twice
  EXPECT_THAT(
      ReadRecordedTrace(Bytes()),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("record 6")));
}

TEST_F(ReadRecordedTraceTest, RefusesWhatNoWorkerWrites) {
  const auto refused = [this](const char* words) {
    EXPECT_THAT(ReadRecordedTrace(Bytes()),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(words)));
  };
  const auto records = records_;
  records_[1].name = 9;
  refused("record 1");
  records_ = records;
  records_[1].address = 4;  // a fourth name
  refused("record 1");
  records_ = records;
  records_[3].event = static_cast<TraceEvent>(200);
  refused("record 3");
  records_ = records;
  names_[2] = "memory_format\tnonsense";
  refused("record 1");
  header_.version = 1;
  refused("version 1");
  EXPECT_THAT(ReadRecordedTrace(Bytes().substr(0, 5000)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("5000")));
}

TEST_F(ReadRecordedTraceTest, RefusesATraceThatLacksItsEnd) {
  header_.records_lost = 7;
  EXPECT_THAT(ReadRecordedTrace(Bytes()),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("7 records"), HasSubstr("fewer"))));
}

}  // namespace
}  // namespace memplan::testing
