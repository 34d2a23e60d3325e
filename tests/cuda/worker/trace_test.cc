// What the trace of a trial on the CPU device holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "tests/cuda/worker/worker_process.h"

namespace memplan::gpu {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

constexpr char kRow[] = "float32[B,4]";

// The peak of live requested bytes of each phase up to the next `step…` or
// `end`, worked out from allocations and frees alone.
std::map<std::string, int64_t> PeaksByStep(const MemoryFile& trace) {
  const std::vector<std::string> names = trace.Names();
  std::map<uint64_t, int64_t> blocks;
  std::map<std::string, int64_t> peaks;
  std::string phase;
  int64_t live = 0;
  for (const TraceRecord& record : trace.Records()) {
    if (record.event == TraceEvent::kPhase) {
      const std::string& name = names.at(record.name);
      phase = name.substr(0, name.find('/'));
    } else if (record.event == TraceEvent::kAlloc) {
      blocks[record.address] = static_cast<int64_t>(record.bytes);
      live += static_cast<int64_t>(record.bytes);
    } else if (record.event == TraceEvent::kFree) {
      live -= blocks.at(record.address);
      blocks.erase(record.address);
    }
    peaks[phase] = std::max(peaks[phase], live);
  }
  return peaks;
}

std::set<std::string> OperatorsOf(const TrialRequest& request) {
  WorkerProcess worker;
  EXPECT_EQ(RunTrialIn(worker, request).report.end, EndKind::kRan);
  const std::vector<std::string> names = worker.trace().Names();
  std::set<std::string> operators;
  for (const TraceRecord& record : worker.trace().Records()) {
    if (record.event == TraceEvent::kOperator) {
      operators.insert(names.at(record.name));
    }
  }
  return operators;
}

TEST(WorkerTraceTest, LiveBytesPeakAsReported) {
  WorkerProcess worker;
  const TrialRun run = RunTrialIn(
      worker, TrainingOf("conv_norm", "float32[B,3,8,8]", Optimizer::kAdam));
  ASSERT_EQ(run.report.end, EndKind::kRan) << run.report.message;
  const auto peaks = PeaksByStep(worker.trace());
  EXPECT_EQ(Bytes(peaks.at("load")), run.report.load_peaks.requested);
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(Bytes(peaks.at("step" + std::to_string(step))),
              run.report.steps[step].peaks.requested);
  }
  EXPECT_EQ(worker.trace().Header().records_lost, 0u);
}

TEST(WorkerTraceTest, MarksThePartsOfATrainingStep) {
  WorkerProcess worker;
  TrialRequest request = TrainingOf("linear4", kRow, Optimizer::kSgd);
  request.steps = 1;
  RunTrialIn(worker, request);
  std::vector<std::string> phases;
  for (const TraceRecord& record : worker.trace().Records()) {
    if (record.event == TraceEvent::kPhase) {
      phases.push_back(worker.trace().NameOf(record));
    }
  }
  EXPECT_THAT(phases, ElementsAre("load", "step0", "step0/forward",
                                  "step0/backward", "step0/optimizer", "end"));
}

TEST(WorkerTraceTest, NamesTheOperatorOfAnAllocation) {
  WorkerProcess worker;
  TrialRequest request = RequestFor("linear4", kRow);
  request.steps = 1;
  RunTrialIn(worker, request);
  std::vector<std::string> allocations;
  bool in_step = false;
  for (const TraceRecord& record : worker.trace().Records()) {
    if (record.event == TraceEvent::kPhase) in_step = true;
    const std::string name = worker.trace().NameOf(record);
    if (record.event == TraceEvent::kPhase && name == "load") in_step = false;
    if (in_step && record.event == TraceEvent::kAlloc) {
      allocations.push_back(name + " " + std::to_string(record.depth) + " " +
                            std::to_string(record.bytes));
    }
  }
  EXPECT_THAT(allocations, ElementsAre("aten::empty 2 32", "aten::addmm 2 32"));
}

TEST(WorkerTraceTest, RunAsChoosesTheExecutor) {
  constexpr char kGraphNode[] =
      "torch::jit::(anonymous namespace)::DifferentiableGraphBackward";
  TrialRequest request = TrainingOf("mlp", "float32[B,64]", Optimizer::kSgd);
  EXPECT_THAT(OperatorsOf(request), Not(Contains(kGraphNode)));
  request.run_as = RunAs::kTorchScript;
  EXPECT_THAT(OperatorsOf(request), Contains(kGraphNode));
}

TEST(WorkerTraceTest, RecordsTheRequestThatFailed) {
  WorkerProcess worker;
  TrialRequest request = RequestFor("linear4", kRow);
  request.batch = 1 << 28;  // 4 GiB of input
  RunTrialIn(worker, request);
  const std::vector<TraceRecord> records = worker.trace().Records();
  ASSERT_FALSE(records.empty());
  EXPECT_EQ(records.back().event, TraceEvent::kFailedRequest);
  EXPECT_EQ(records.back().bytes, uint64_t{4} << 30);
  EXPECT_EQ(worker.trace().NameOf(records.back()), "aten::empty");
}

TEST(WorkerTraceTest, FlagsOverflowAndRunsOn) {
  constexpr size_t kRoom = 10;
  WorkerProcess worker(kRoom);
  const TrialRun run = RunTrialIn(worker, RequestFor("linear4", kRow));
  EXPECT_EQ(run.report.end, EndKind::kRan);
  EXPECT_EQ(worker.trace().Header().record_count, kRoom);
  EXPECT_GT(worker.trace().Header().records_lost, 0u);
}

TEST(WorkerTraceTest, IsReadableAfterTheWorkerWasKilled) {
  WorkerProcess worker;
  worker.Send(RequestFor("endless", kRow));
  for (;;) {
    const auto message = worker.Receive();
    ASSERT_TRUE(message.has_value());
    const auto* progress = std::get_if<Progress>(&*message);
    if (progress != nullptr && progress->phase == "step") break;
  }
  kill(worker.pid(), SIGKILL);
  EXPECT_EQ(worker.Wait(), -SIGKILL);
  EXPECT_EQ(worker.trace().Header().magic, kTraceMagic);
  const std::vector<TraceRecord> records = worker.trace().Records();
  ASSERT_FALSE(records.empty());
  EXPECT_EQ(worker.trace().NameOf(records.front()), "load");
}

}  // namespace
}  // namespace memplan::gpu
