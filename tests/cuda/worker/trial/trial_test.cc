#include "cuda/worker/trial/trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/cuda/worker/trial/memory_file.h"

namespace memplan::gpu {
namespace {

using ::testing::ElementsAre;

Peaks PeaksOf(int64_t bytes) {
  return {.requested = Bytes(bytes),
          .allocated = Bytes(bytes),
          .active = Bytes(bytes),
          .reserved = std::nullopt};
}

// Each span shows 100 bytes more than the one before: 100, 200, …
class CountingDevice : public Device {
 public:
  std::optional<Bytes> cap() const override { return Bytes(4096); }
  absl::Status SetCap(std::optional<Bytes>) override {
    return absl::OkStatus();
  }
  absl::StatusOr<Bytes> Renew() override { return Bytes(0); }
  absl::Status ReleaseCache() override { return absl::OkStatus(); }
  Prepared Identity() const override { return {}; }
  void BeginSpan() override { ++spans_; }
  Span ReadSpan() override {
    return {.peaks = PeaksOf(100 * spans_),
            .allocation_retries = spans_,
            .failed_requests = 10 * spans_};
  }
  absl::StatusOr<Settled> State() override { return state; }
  std::optional<MemorySpeed> ReadSpeed() override {
    return MemorySpeed{.slowest = 1, .peak = 2, .absence = ""};
  }

  absl::StatusOr<Settled> state = Settled{.reserved = Bytes(77),
                                          .device_free = std::nullopt,
                                          .device_total = std::nullopt};

 private:
  int64_t spans_ = 0;
};

class ScriptedExecution : public Execution {
 public:
  std::optional<Failure> Load() override { return load; }
  std::optional<Failure> Begin(const TrialRequest&) override { return begin; }
  std::optional<Failure> RunStep(const TrialStep& step) override {
    ++steps_run;
    return step.phase == failing_phase ? failure : std::nullopt;
  }

  std::optional<Failure> load;
  std::optional<Failure> begin;
  std::string failing_phase;
  std::optional<Failure> failure = Failure{
      .end = EndKind::kOutOfMemory, .field = "", .message = "memory is out"};
  int steps_run = 0;
};

class NotingListener : public TrialListener {
 public:
  void OnProgress(const Progress& progress) override {
    notes.push_back(absl::StrCat(progress.phase, " ", progress.steps_done));
  }
  void OnSettled(const Settled& settled) override {
    notes.push_back(absl::StrCat("settled ", settled.reserved.count()));
  }
  std::vector<std::string> notes;
};

class RunTrialTest : public ::testing::Test {
 protected:
  Report Run(int steps) {
    request_.steps = steps;
    const LoadResult load = RunLoad(device_, execution_, recorder_, listener_);
    return RunSteps(request_, load, device_, execution_, recorder_, listener_);
  }

  std::vector<std::string> Phases() const {
    std::vector<std::string> phases;
    for (const TraceRecord& record : file_.Records()) {
      phases.push_back(file_.NameOf(record));
    }
    return phases;
  }

  TrialRequest request_;
  MemoryFile file_{100};
  std::unique_ptr<TraceWriter> writer_ =
      TraceWriter::Map(file_.descriptor()).value();
  Recorder recorder_{*writer_};
  CountingDevice device_;
  ScriptedExecution execution_;
  NotingListener listener_;
};

TEST_F(RunTrialTest, ReportsLoadAndEachStep) {
  const Report report = Run(2);
  EXPECT_EQ(report.end, EndKind::kRan);
  EXPECT_EQ(report.cap, Bytes(4096));
  EXPECT_EQ(report.load_peaks, PeaksOf(100));
  EXPECT_EQ(report.load_allocation_retries, 1);
  EXPECT_EQ(report.load_failed_requests, 10);
  EXPECT_EQ(report.memory_speed,
            (MemorySpeed{.slowest = 1, .peak = 2, .absence = ""}));
  ASSERT_EQ(report.steps.size(), 2u);
  EXPECT_EQ(report.steps[0].peaks, PeaksOf(200));
  EXPECT_EQ(report.steps[1].peaks, PeaksOf(300));
  EXPECT_EQ(report.steps[1].allocation_retries, 3);
  EXPECT_EQ(report.steps[1].failed_requests, 30);
  EXPECT_FALSE(report.failed_while_loading);
}

TEST_F(RunTrialTest, TellsTheListenerInOrder) {
  Run(2);
  EXPECT_THAT(listener_.notes, ElementsAre("load 0", "step 0", "step 1",
                                           "step 2", "settled 77"));
}

TEST_F(RunTrialTest, MarksPhasesInTheTrace) {
  Run(2);
  EXPECT_THAT(Phases(), ElementsAre("load", "step0", "step1", "end"));
}

TEST_F(RunTrialTest, RunsWhatComesBetweenStepsAndOneMore) {
  request_.options.also_batches = {3, 5};
  request_.options.evaluation_batch = 64;
  const Report report = Run(1);
  EXPECT_THAT(Phases(), ElementsAre("load", "step0", "also0", "also1",
                                    "evaluate", "again", "end"));
  ASSERT_EQ(report.steps.size(), 5u);
  EXPECT_EQ(report.steps[0].kind, StepKind::kStep);
  EXPECT_EQ(report.steps[0].batch, 0);  // the trial's own
  EXPECT_EQ(report.steps[2].kind, StepKind::kOtherBatch);
  EXPECT_EQ(report.steps[2].batch, 5);
  EXPECT_EQ(report.steps[3].kind, StepKind::kEvaluation);
  EXPECT_EQ(report.steps[3].batch, 64);
  EXPECT_EQ(report.steps[4].kind, StepKind::kAgain);
  EXPECT_EQ(report.steps[4].batch, 0);
}

TEST_F(RunTrialTest, FailsIfWhatComesBetweenStepsFails) {
  request_.options.evaluation_batch = 64;
  execution_.failing_phase = "evaluate";
  const Report report = Run(2);
  EXPECT_EQ(report.end, EndKind::kOutOfMemory);
  ASSERT_EQ(report.steps.size(), 3u);
  EXPECT_EQ(report.steps.back().kind, StepKind::kEvaluation);
}

TEST_F(RunTrialTest, RunsNoStepIfLoadingFails) {
  execution_.load = BadRequest("mode", "was traced in eval mode");
  const Report report = Run(2);
  EXPECT_EQ(report.end, EndKind::kBadRequest);
  EXPECT_EQ(report.field, "mode");
  EXPECT_EQ(report.message, "was traced in eval mode");
  EXPECT_TRUE(report.failed_while_loading);
  EXPECT_EQ(report.load_failed_requests, 10);
  EXPECT_EQ(execution_.steps_run, 0);
  EXPECT_THAT(listener_.notes, ElementsAre("load 0"));
}

TEST_F(RunTrialTest, RunsNoStepIfTheBatchIsRefused) {
  execution_.begin = BadRequest("inputs", "too large");
  const Report report = Run(2);
  EXPECT_EQ(report.field, "inputs");
  EXPECT_TRUE(report.failed_while_loading);
  EXPECT_EQ(execution_.steps_run, 0);
}

TEST_F(RunTrialTest, EndsWithTheStepThatFailed) {
  execution_.failing_phase = "step1";
  const Report report = Run(4);
  EXPECT_EQ(report.end, EndKind::kOutOfMemory);
  EXPECT_EQ(report.message, "memory is out");
  EXPECT_FALSE(report.failed_while_loading);
  ASSERT_EQ(report.steps.size(), 2u);
  EXPECT_EQ(report.steps[1].failed_requests, 30);
  EXPECT_THAT(listener_.notes, ElementsAre("load 0", "step 0", "step 1"));
}

TEST_F(RunTrialTest, FailsIfTheDeviceCannotBeReadAfterTheSteps) {
  device_.state = absl::UnavailableError("the driver is gone");
  const Report report = Run(1);
  EXPECT_EQ(report.end, EndKind::kModelFailed);
  EXPECT_EQ(report.message, "the driver is gone");
}

}  // namespace
}  // namespace memplan::gpu
