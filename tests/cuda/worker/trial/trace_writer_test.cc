#include "cuda/worker/trial/trace_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/cuda/worker/trial/memory_file.h"
#include "tests/support/status_matchers.h"

namespace memplan::gpu {
namespace {

using ::memplan::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TraceRecord Alloc(uint64_t bytes) {
  return {.event = TraceEvent::kAlloc,
          .reserved = 0,
          .depth = 1,
          .name = 0,
          .bytes = bytes,
          .address = 0x7f00,
          .stream = 0};
}

TEST(TraceWriterTest, WritesAHeaderThatIsTrueFromTheStart) {
  const MemoryFile file(4);
  const auto writer = TraceWriter::Map(file.descriptor()).value();
  EXPECT_EQ(file.Header().magic, kTraceMagic);
  EXPECT_EQ(file.Header().version, kTraceVersion);
  EXPECT_EQ(file.Header().record_count, 0u);
}

TEST(TraceWriterTest, WritesEachNameOnce) {
  const MemoryFile file(4);
  const auto writer = TraceWriter::Map(file.descriptor()).value();
  EXPECT_EQ(writer->Intern("aten::add"), 0u);
  EXPECT_EQ(writer->Intern(""), 1u);
  EXPECT_EQ(writer->Intern("aten::add"), 0u);
  EXPECT_EQ(writer->Intern("aten::mul"), 2u);
  EXPECT_THAT(file.Names(), ElementsAre("aten::add", "", "aten::mul"));
}

TEST(TraceWriterTest, ForgetsEverythingOnRestart) {
  const MemoryFile file(1);
  const auto writer = TraceWriter::Map(file.descriptor()).value();
  writer->Intern("aten::add");
  writer->Append(Alloc(1));
  writer->Append(Alloc(2));  // lost
  writer->Restart();
  EXPECT_EQ(file.Header().record_count, 0u);
  EXPECT_EQ(file.Header().records_lost, 0u);
  EXPECT_THAT(file.Names(), ElementsAre());
  EXPECT_EQ(writer->Intern("aten::mul"), 0u);
  writer->Append(Alloc(3));
  EXPECT_THAT(file.Names(), ElementsAre("aten::mul"));
  EXPECT_EQ(file.Records().at(0).bytes, 3u);
}

TEST(TraceWriterTest, CutsLongNames) {
  const MemoryFile file(4);
  const auto writer = TraceWriter::Map(file.descriptor()).value();
  writer->Intern(std::string(100'000, 'x'));
  EXPECT_EQ(file.Names().at(0), std::string(kLongestName, 'x'));
}

TEST(TraceWriterTest, CountsNamesWithoutRoom) {
  const MemoryFile file(4);
  const auto writer = TraceWriter::Map(file.descriptor()).value();
  // Each takes 514 bytes of the 8,388,608 there: 16,320 have room.
  uint32_t last = 0;
  for (int i = 0; i < 16322; ++i) {
    last = writer->Intern(absl::StrCat(i, std::string(kLongestName, 'x')));
  }
  EXPECT_EQ(last, kNoName);
  EXPECT_EQ(file.Header().name_count, 16320u);
  EXPECT_EQ(file.Header().names_lost, 2u);
  EXPECT_EQ(file.Names().size(), 16320u);
}

TEST(TraceWriterTest, KeepsSignaturesWholeOrNotAtAll) {
  const MemoryFile file(4);
  const auto writer = TraceWriter::Map(file.descriptor()).value();
  EXPECT_EQ(writer->InternSignature(std::string(kLongestSignature, 's')), 0u);
  EXPECT_EQ(writer->InternSignature(std::string(kLongestSignature, 's')), 0u);
  EXPECT_EQ(writer->InternSignature(std::string(kLongestSignature + 1, 's')),
            kNoName);
  EXPECT_EQ(file.Header().name_count, 1u);
  EXPECT_EQ(file.Header().names_lost, 0u);
}

TEST(TraceWriterTest, CountsRecordsWithoutRoom) {
  const MemoryFile file(2);
  const auto writer = TraceWriter::Map(file.descriptor()).value();
  for (uint64_t bytes = 1; bytes <= 5; ++bytes) writer->Append(Alloc(bytes));
  EXPECT_EQ(file.Header().record_count, 2u);
  EXPECT_EQ(file.Header().records_lost, 3u);
  const std::vector<TraceRecord> records = file.Records();
  EXPECT_EQ(records.at(0).bytes, 1u);
  EXPECT_EQ(records.at(1).bytes, 2u);
}

TEST(TraceWriterTest, TakesRecordsFromManyThreads) {
  constexpr size_t kThreads = 4;
  constexpr size_t kEach = 1000;
  const MemoryFile file(kThreads * kEach);
  const auto writer = TraceWriter::Map(file.descriptor()).value();
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&writer] {
      for (size_t j = 0; j < kEach; ++j) writer->Append(Alloc(7));
    });
  }
  threads.clear();  // joins
  EXPECT_EQ(file.Header().record_count, 4000u);
  for (const TraceRecord& record : file.Records()) EXPECT_EQ(record.bytes, 7u);
}

TEST(TraceWriterTest, RefusesAFileWithoutRoom) {
  const MemoryFile file(0);
  EXPECT_THAT(TraceWriter::Map(file.descriptor()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("it needs at least 8392736")));
}

TEST(TraceWriterTest, RefusesADescriptorThatIsNoFile) {
  EXPECT_THAT(TraceWriter::Map(-1), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("no trace file")));
}

}  // namespace
}  // namespace memplan::gpu
