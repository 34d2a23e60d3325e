// Searches that predict, on workers that are fakes: a made-up program, and a table
// of what came of its trials.
#ifndef MEMPLAN_TESTS_SERVER_CORE_FAST_EXECUTION_FIXTURE_H_
#define MEMPLAN_TESTS_SERVER_CORE_FAST_EXECUTION_FIXTURE_H_

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/jobs/probe_execution.h"
#include "tests/server/core/fake_trial_runner.h"
#include "tests/server/core/sample_traces.h"

namespace memplan::testing {

// Under 1 GiB: 64 MiB + batch · 16 MiB + 32 MiB of scratch, so that 58 fit.
class FastExecutionFixture : public ::testing::Test {
 protected:
  static constexpr int kSteps = 4;

  FastExecutionFixture() {
    spec_.device_id = "GPU-1";
    spec_.steps = kSteps;
    spec_.limit.cap = GiB(1);
    spec_.task = SearchOptions{8, 1000, 1};
  }

  // A trial as the program would end, with its trace at the order's path.
  absl::StatusOr<TrialResult> RunProgram(const TrialOrder& order) {
    const int64_t batch = order.request.batch;
    const int64_t cap =
        order.request.cap ? order.request.cap->count() : GiB(1).count();
    if (!program_.Fits(batch, cap)) {
      return TrialResult{TrialThat(TrialOutcome::kOutOfMemory, "full"), {}};
    }
    TrialResult result{TrialThat(TrialOutcome::kFits), {}};
    result.trial.steps.resize(kSteps);
    result.trial.trace_events = 9;
    result.trial.context = context_;
    for (StepResult& step : result.trial.steps) {
      step.peaks.reserved =
          Bytes(program_.StepBytes(batch) + program_.ScratchBytes(batch));
    }
    const std::lock_guard lock(traces_mutex_);
    traces_[order.trace_path] = batch;
    return result;
  }

  gpu::CallsReport RunConvolutions(const gpu::RunCalls& order) const {
    gpu::CallsReport report;
    for (const DistinctCall& call : order.calls) {
      const int64_t batch = call.arguments[0].numbers[0];
      report.results.push_back({{program_.ConvolutionPlan(batch)}, ""});
    }
    return report;
  }

  ExecutionTools Tools() {
    return {
        .runner = *runner_,
        .cancel = cancel_,
        .model_path = "/models/m",
        .trace_path =
            [](int number) { return absl::StrCat("/traces/", number); },
        .on_progress = [](const ProbeProgress&) {},
        .on_trial =
            [this](const Trial& trial, const std::string& /*version*/) {
              trials_.push_back(trial);
            },
        .read_trace = [this](const std::string& path) -> absl::StatusOr<Trace> {
          const std::lock_guard lock(traces_mutex_);
          if (!traces_.contains(path)) {
            return absl::NotFoundError(path);
          }
          return SampleTrace(program_, traces_.at(path), kSteps);
        },
        .on_fall_back = [this](FallBackKind kind) { fall_back_ = kind; }};
  }

  ProbeEnding Execute(FakeTrialRunner::Outcome outcome) {
    Make(std::move(outcome));
    return ExecuteProbe(spec_, Tools());
  }
  ProbeEnding Execute() {
    return Execute([this](const TrialOrder& o) { return RunProgram(o); });
  }
  void Make(FakeTrialRunner::Outcome outcome) {
    runner_.emplace(std::move(outcome));
    runner_->set_calls(
        [this](const gpu::RunCalls& order) { return RunConvolutions(order); });
  }

  SampleProgram program_;
  std::optional<Bytes> context_;
  ProbeSpec spec_;
  std::optional<FakeTrialRunner> runner_;
  CancelSignal cancel_;
  std::vector<Trial> trials_;
  std::mutex traces_mutex_;                // two workers may record at a time
  std::map<std::string, int64_t> traces_;  // batches, by path
  std::optional<FallBackKind> fall_back_;
};

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SERVER_CORE_FAST_EXECUTION_FIXTURE_H_
