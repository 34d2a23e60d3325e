// A worker that stays: what it records after another order is what a fresh
// process records.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "tests/cuda/worker/worker_process.h"

namespace memplan::gpu {
namespace {

// One record with nothing in it that two processes would not have in common: a
// block is the number of its request, a name is its text.
using ExactEvent =
    std::tuple<TraceEvent, int, std::string, uint64_t, uint64_t, std::string>;

std::vector<ExactEvent> ExactEventsOf(const MemoryFile& trace) {
  const std::vector<std::string> names = trace.Names();
  std::map<uint64_t, uint64_t> blocks;
  uint64_t requests = 0;
  std::vector<ExactEvent> events;
  for (const TraceRecord& record : trace.Records()) {
    uint64_t block = 0;
    std::string signature;
    if (record.event == TraceEvent::kOperator) {
      if (record.address > 0) signature = names.at(record.address - 1);
    } else {
      if (record.event == TraceEvent::kAlloc) {
        blocks[record.address] = ++requests;
      }
      block = blocks[record.address];
    }
    events.emplace_back(record.event, record.depth,
                        record.name == kNoName ? "" : names.at(record.name),
                        record.bytes, block, signature);
  }
  return events;
}

struct StayCase {
  std::string name;
  TrialRequest request;
};

void PrintTo(const StayCase& test, std::ostream* out) { *out << test.name; }

class StayTest : public ::testing::TestWithParam<StayCase> {
 protected:
  static TrialRequest At(int64_t batch, bool stay) {
    TrialRequest request = GetParam().request;
    request.batch = batch;
    request.stay = stay;
    return request;
  }
  // A run of 32 after a run of `before`, if there is one, and `order` records what
  // one in a fresh process does.
  static void CheckRunAfter(const Prepare& order,
                            const std::optional<TrialRequest>& before = {});
};

TEST_P(StayTest, ASecondRunRecordsWhatAFreshProcessDoes) {
  WorkerProcess staying;
  ASSERT_EQ(RunOrderIn(staying, At(8, true)).report.end, EndKind::kRan);
  const TrialRun second = RunTrialIn(staying, At(32, false));
  EXPECT_EQ(second.exit_code, 0);
  WorkerProcess fresh;
  const TrialRun only = RunTrialIn(fresh, At(32, false));
  ASSERT_EQ(only.report.end, EndKind::kRan) << only.report.message;
  EXPECT_EQ(second.report.steps.at(2).peaks, only.report.steps.at(2).peaks);
  EXPECT_EQ(second.report.load_peaks, only.report.load_peaks);
  const auto events = ExactEventsOf(fresh.trace());
  EXPECT_GT(events.size(), 50u);
  EXPECT_EQ(ExactEventsOf(staying.trace()), events);
}

void StayTest::CheckRunAfter(const Prepare& order,
                             const std::optional<TrialRequest>& before) {
  WorkerProcess prepared;
  if (before) {
    ASSERT_EQ(RunOrderIn(prepared, *before).report.end, EndKind::kRan);
  }
  prepared.Send(order);
  while (const auto message = prepared.Receive()) {
    if (std::holds_alternative<Prepared>(*message)) break;
    ASSERT_FALSE(std::holds_alternative<Report>(*message));
  }
  const TrialRun run = RunTrialIn(prepared, At(32, false));
  EXPECT_EQ(run.report.cap, GiB(1));
  WorkerProcess fresh;
  EXPECT_EQ(run.report.load_peaks,
            RunTrialIn(fresh, At(32, false)).report.load_peaks);
  EXPECT_EQ(ExactEventsOf(prepared.trace()), ExactEventsOf(fresh.trace()));
}

TEST_P(StayTest, ARunOfWhatWasPreparedRecordsWhatAFreshProcessDoes) {
  TrialRequest loose = At(1, true);
  loose.cap = GiB(2);
  CheckRunAfter(Prepare{loose});
}

TEST_P(StayTest, ARunOfWhatWasPreparedAfterAnotherRunDoesSoToo) {
  CheckRunAfter(Prepare{At(1, true)}, At(8, true));
}

TEST_P(StayTest, ARunAfterLibrariesWereOpenedRecordsWhatAFreshProcessDoes) {
  CheckRunAfter(
      Prepare{.program = At(8, true), .preparation = Preparation::kLibraries});
}

TEST_P(StayTest, ARunAfterARehearsalRecordsWhatAFreshProcessDoes) {
  CheckRunAfter(Prepare{.program = At(8, true),
                        .preparation = Preparation::kRehearsedProgram});
}

TEST_P(StayTest, ARehearsalThatRunsOutOfMemoryLeavesNothing) {
  TrialRequest large = At(1 << 22, true);
  large.cap = MiB(8);
  CheckRunAfter(
      Prepare{.program = large, .preparation = Preparation::kRehearsedProgram});
}

TrialRequest AsTorchScript(TrialRequest request) {
  request.run_as = RunAs::kTorchScript;
  return request;
}

INSTANTIATE_TEST_SUITE_P(
    Models, StayTest,
    ::testing::ValuesIn<StayCase>({
        {"ConvolutionEager",
         TrainingOf("conv_norm", "float32[B,3,8,8]", Optimizer::kAdam)},
        {"ConvolutionTorchScript",
         AsTorchScript(TrainingOf("conv_norm", "float32[B,3,8,8]",
                                  Optimizer::kSgdMomentum))},
        {"EmbeddingTorchScript",
         AsTorchScript(TrainingOf("tokens", "int64[B,16]{0..100}",
                                  Optimizer::kAdamW))},
        {"Scripted", RequestFor("scripted", "float32[B,4]")},
    }),
    [](const auto& test) { return test.param.name; });

TEST(StayingWorkerTest, RunsAgainAfterMemoryRanOut) {
  WorkerProcess worker;
  TrialRequest request =
      TrainingOf("conv_norm", "float32[B,3,8,8]", Optimizer::kAdam);
  request.stay = true;
  request.batch = 1 << 20;
  EXPECT_EQ(RunOrderIn(worker, request).report.end, EndKind::kOutOfMemory);
  request.batch = 8;
  EXPECT_EQ(RunOrderIn(worker, request).report.end, EndKind::kRan);
  request.cap = Bytes(2048);  // less than the parameters take
  const Report report = RunOrderIn(worker, request).report;
  EXPECT_EQ(report.end, EndKind::kOutOfMemory);
  EXPECT_TRUE(report.failed_while_loading);
  worker.Send(End{});
  EXPECT_EQ(worker.Wait(), 0);
}

TEST(StayingWorkerTest, EndsWellWhenTheDaemonHangsUp) {
  WorkerProcess worker;
  TrialRequest request = RequestFor("linear4", "float32[B,4]");
  request.stay = true;
  EXPECT_EQ(RunOrderIn(worker, request).report.end, EndKind::kRan);
  worker.CloseChannel();
  EXPECT_EQ(worker.Wait(), 0);
}

}  // namespace
}  // namespace memplan::gpu
