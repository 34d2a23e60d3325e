#include "server/traces/worker_trace.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/worker/messages/trace_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/trace/text_format.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;
using ::testing::HasSubstr;

using gpu::kNoName;
using gpu::TraceHeader;
using gpu::TraceRecord;
using Kind = gpu::TraceEvent;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// A file as a worker writes it, to be spoilt field by field.
struct WorkerFile {
  TraceHeader header = {.magic = gpu::kTraceMagic,
                        .version = gpu::kTraceVersion,
                        .name_count = 0,
                        .name_bytes = 0,
                        .record_count = 0,
                        .records_lost = 0,
                        .names_lost = 0};
  std::string names;
  std::vector<TraceRecord> records;

  void AddName(const std::string& name) {
    const auto length = static_cast<uint16_t>(name.size());
    names.append(reinterpret_cast<const char*>(&length), sizeof(length));
    names += name;
    ++header.name_count;
    header.name_bytes = names.size();
  }
  void Add(Kind event, uint64_t bytes, uint64_t address,
           uint32_t name = kNoName, uint16_t depth = 0, uint64_t stream = 0) {
    records.push_back({.event = event,
                       .reserved = 0,
                       .depth = depth,
                       .name = name,
                       .bytes = bytes,
                       .address = address,
                       .stream = stream});
    header.record_count = records.size();
  }
  std::string Bytes() const {
    std::string bytes(gpu::kTraceRecordsOffset, '\0');
    std::memcpy(bytes.data(), &header, sizeof(header));
    bytes.replace(gpu::kTraceNamesOffset, names.size(), names);
    bytes.append(reinterpret_cast<const char*>(records.data()),
                 records.size() * sizeof(TraceRecord));
    return bytes;
  }
};

WorkerFile SmallFile() {
  WorkerFile file;
  file.AddName("load");
  file.AddName("aten::empty");
  file.Add(Kind::kPhase, 0, 0, 0);
  file.Add(Kind::kOperator, 0, 0, 1, 1);
  file.Add(Kind::kSegmentAlloc, 2 << 20, 0x200000, 1, 1, 0xab);
  file.Add(Kind::kAlloc, 512, 0x200000, 1, 1, 0xab);
  file.Add(Kind::kFailedRequest, 1 << 30, 0, 1, 1);
  file.Add(Kind::kFreeRequested, 512, 0x200000);
  file.Add(Kind::kFree, 512, 0x200000);
  file.Add(Kind::kSegmentFree, 2 << 20, 0x200000, kNoName, 0, 0xab);
  file.Add(Kind::kSegmentMap, 2 << 20, 0x800000);
  file.Add(Kind::kSegmentUnmap, 2 << 20, 0x800000);
  return file;
}

TEST(WorkerTraceTest, ReadsEveryEvent) {
  const auto trace = ReadWorkerTrace(SmallFile().Bytes());
  ASSERT_THAT(trace, IsOk());
  EXPECT_EQ(WriteTraceText(*trace),
            "M\tload\n"
            "O\t1\taten::empty\n"
            "S\t2097152\t200000\tstream=ab\n"
            "A\t512\t200000\taten::empty\tstream=ab\n"
            "X\t1073741824\taten::empty\n"
            "F\t200000\n"
            "D\t200000\n"
            "U\t2097152\t200000\tstream=ab\n"
            "P\t2097152\t800000\n"
            "Q\t2097152\t800000\n");
}

TEST(WorkerTraceTest, TellsTextsFromWorkersFiles) {
  EXPECT_TRUE(IsWorkerTrace(SmallFile().Bytes()));
  EXPECT_FALSE(IsWorkerTrace(""));
  EXPECT_FALSE(IsWorkerTrace("M\tload\n"));
}

TEST(WorkerTraceTest, MakesNamesOneLine) {
  WorkerFile file;
  file.AddName("a\tb\nc");
  file.Add(Kind::kPhase, 0, 0, 0);
  const auto trace = ReadWorkerTrace(file.Bytes());
  ASSERT_THAT(trace, IsOk());
  EXPECT_EQ(trace->Name(trace->events[0]), "a?b?c");
}

TEST(WorkerTraceTest, RefusesWhatNoWorkerWrites) {
  const auto refused = [](const WorkerFile& file, const std::string& why) {
    EXPECT_THAT(ReadWorkerTrace(file.Bytes()),
                StatusIs(kInvalid, HasSubstr(why)));
  };
  WorkerFile file = SmallFile();
  file.header.magic = 1;
  refused(file, "magic number");
  file = SmallFile();
  file.header.version = 9;
  refused(file, "it has version 9");
  file = SmallFile();
  file.header.record_count = 11;
  refused(file, "it counts 11 records, but has room for 10");
  file = SmallFile();
  file.header.name_bytes = uint64_t{1} << 40;
  refused(file, "its names pass their place");
  file = SmallFile();
  file.header.name_count = 3;
  refused(file, "name 2 is cut off");
  file = SmallFile();
  file.header.name_bytes = 9;
  refused(file, "name 1 is cut off");
  file = SmallFile();
  file.records[2].event = static_cast<Kind>(77);
  refused(file, "event 2: it is of unknown kind 77");
  file = SmallFile();
  file.records[1].name = 2;
  refused(file, "event 1: it has name 2 of 2");
  file = SmallFile();
  file.records[3].bytes = UINT64_MAX;
  refused(file, "event 3: a size of");
  file = SmallFile();
  file.records[6].address = 1;
  refused(file, "event 6: a free at 1, where no block");
  refused(WorkerFile(), "the trace is empty");
  EXPECT_THAT(ReadWorkerTrace(SmallFile().Bytes().substr(0, 5000)),
              StatusIs(kInvalid, HasSubstr("it is cut off")));
}

TEST(WorkerTraceTest, RefusesTracesThatAreNotWhole) {
  WorkerFile file = SmallFile();
  file.header.records_lost = 5;
  EXPECT_THAT(ReadWorkerTrace(file.Bytes()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("no room for 5 of its 15 records")));
}

}  // namespace
}  // namespace memplan
