#include "cuda/worker/trial/recorder.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "tests/cuda/worker/trial/memory_file.h"

namespace memplan::gpu {
namespace {

class RecorderTest : public ::testing::Test {
 protected:
  void Allocate(int64_t bytes) {
    recorder_.RecordMemory(TraceEvent::kAlloc, Bytes(bytes), 0x100, 3);
  }

  MemoryFile file_{100};
  std::unique_ptr<TraceWriter> writer_ =
      TraceWriter::Map(file_.descriptor()).value();
  Recorder recorder_{*writer_};
};

TEST_F(RecorderTest, NamesTheInnermostOperatorAndItsDepth) {
  recorder_.BeginOperator("aten::linear");
  recorder_.BeginOperator("aten::addmm");
  Allocate(64);
  recorder_.EndOperator();
  Allocate(32);
  recorder_.EndOperator();
  Allocate(16);
  const std::vector<TraceRecord> records = file_.Records();
  ASSERT_EQ(records.size(), 5u);
  EXPECT_EQ(records[1].event, TraceEvent::kOperator);
  EXPECT_EQ(records[1].depth, 2);
  EXPECT_EQ(file_.NameOf(records[2]), "aten::addmm");
  EXPECT_EQ(records[2].depth, 2);
  EXPECT_EQ(records[2].bytes, 64u);
  EXPECT_EQ(records[2].address, 0x100u);
  EXPECT_EQ(records[2].stream, 3u);
  EXPECT_EQ(file_.NameOf(records[3]), "aten::linear");
  EXPECT_EQ(records[3].depth, 1);
  EXPECT_EQ(file_.NameOf(records[4]), "");
  EXPECT_EQ(records[4].depth, 0);
}

TEST_F(RecorderTest, MarksPhases) {
  recorder_.BeginPhase("step0/forward");
  const TraceRecord record = file_.Records().at(0);
  EXPECT_EQ(record.event, TraceEvent::kPhase);
  EXPECT_EQ(file_.NameOf(record), "step0/forward");
}

TEST_F(RecorderTest, KeepsAStackForEachThread) {
  recorder_.BeginOperator("aten::linear");
  std::thread([this] {
    recorder_.BeginOperator("AddmmBackward0");
    Allocate(8);
    recorder_.EndOperator();
  }).join();
  recorder_.EndOperator();
  const TraceRecord allocation = file_.Records().at(2);
  EXPECT_EQ(file_.NameOf(allocation), "AddmmBackward0");
  EXPECT_EQ(allocation.depth, 1);
}

TEST_F(RecorderTest, BearsAnEndWithoutABeginning) {
  recorder_.EndOperator();
  Allocate(8);
  EXPECT_EQ(file_.Records().at(0).depth, 0);
}

}  // namespace
}  // namespace memplan::gpu
