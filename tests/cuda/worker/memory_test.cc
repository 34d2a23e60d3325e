// What the worker measures on the CPU device, worked out by hand.
//
// `linear4` at batch 2: a weight of 64 bytes, a bias of 16, an input and an
// output of 32 each; every block is one unit of 512 bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cuda/worker/trial/live_bytes.h"
#include "tests/cuda/worker/worker_process.h"

namespace memplan::gpu {
namespace {

constexpr char kRow[] = "float32[B,4]";

Peaks PeaksOf(int64_t requested, int64_t units) {
  return {.requested = Bytes(requested),
          .allocated = Bytes(512 * units),
          .active = Bytes(512 * units),
          .reserved = std::nullopt};
}

Bytes HeldAfter(const TrialRequest& request) {
  WorkerProcess worker;
  return RunTrialIn(worker, request).settled->reserved;
}

TEST(WorkerMemoryTest, InferenceHoldsParametersInputAndOutput) {
  const Report report = ReportOf(RequestFor("linear4", kRow));
  ASSERT_EQ(report.steps.size(), 3u);
  for (const StepResult& step : report.steps) {
    EXPECT_EQ(step.peaks, PeaksOf(64 + 16 + 32 + 32, 4));
    EXPECT_EQ(step.failed_requests, 0);
    EXPECT_EQ(step.allocation_retries, 0);
  }
}

// Requested peaks when the gradient of the square is done: parameters, input and
// output, loss and its gradient (4 bytes each), and four blocks of the output's
// size: the mean's gradient, x, 2x, and their product. Allocated peaks one step
// before, when 2x is made: without the product, but with the number two as a
// tensor of 8 bytes and its copy of 4.
TEST(WorkerMemoryTest, TrainingPeaksInTheGradientOfTheLoss) {
  const Report report = ReportOf(TrainingOf("linear4", kRow, Optimizer::kSgd));
  ASSERT_EQ(report.steps.size(), 3u);
  for (const StepResult& step : report.steps) {
    EXPECT_EQ(step.peaks, PeaksOf(80 + 64 + 8 + 4 * 32, 2 + 2 + 2 + 3 + 2));
  }
}

TEST(WorkerMemoryTest, MomentumIsThereFromTheSecondStepOn) {
  const Report report =
      ReportOf(TrainingOf("linear4", kRow, Optimizer::kSgdMomentum));
  ASSERT_EQ(report.steps.size(), 3u);
  const int64_t plain = 80 + 64 + 8 + 4 * 32;
  EXPECT_EQ(report.steps[0].peaks.requested, Bytes(plain));
  EXPECT_EQ(report.steps[1].peaks.requested, Bytes(plain + 80));
  EXPECT_EQ(report.steps[2].peaks.requested, Bytes(plain + 80));
}

TEST(WorkerMemoryTest, ParametersGradientsAndStateAreHeldAfterTheSteps) {
  EXPECT_EQ(HeldAfter(RequestFor("linear4", kRow)), kBlockUnit * 2);
  EXPECT_EQ(HeldAfter(TrainingOf("linear4", kRow, Optimizer::kSgd)),
            kBlockUnit * (2 + 2));
  EXPECT_EQ(HeldAfter(TrainingOf("linear4", kRow, Optimizer::kSgdMomentum)),
            kBlockUnit * (2 + 2 + 2));
  EXPECT_EQ(HeldAfter(TrainingOf("linear4", kRow, Optimizer::kAdam)),
            kBlockUnit * (2 + 2 + 4));
}

// The model's own loss needs no square: scores, their absolute values, the sum.
TEST(WorkerMemoryTest, AModelsOwnLossIsUsed) {
  const Report own = ReportOf(TrainingOf("own_loss", kRow, Optimizer::kSgd));
  const Report square = ReportOf(TrainingOf("linear4", kRow, Optimizer::kSgd));
  ASSERT_EQ(own.end, EndKind::kRan) << own.message;
  EXPECT_LT(own.steps[1].peaks.requested, square.steps[1].peaks.requested);
}

// `waves` is linear4 and four sines: without gradients two of the five results
// live at a time, with them all.
TEST(WorkerMemoryTest, InferenceWithGradientsKeepsActivations) {
  TrialRequest request = RequestFor("waves", kRow);
  request.run_as = RunAs::kEager;
  EXPECT_EQ(ReportOf(request).steps.at(1).peaks,
            PeaksOf(80 + 32 + 2 * 32, 2 + 1 + 2));
  request.mode = Mode::kInferGrad;
  EXPECT_EQ(ReportOf(request).steps.at(1).peaks,
            PeaksOf(80 + 32 + 5 * 32, 2 + 1 + 5));
}

TEST(WorkerMemoryTest, ACapOfThePeakIsEnoughAndAUnitLessIsNot) {
  TrialRequest request =
      TrainingOf("conv_norm", "float32[B,3,8,8]", Optimizer::kAdam);
  request.batch = 64;
  const Report free = ReportOf(request);
  Bytes peak;
  for (const StepResult& step : free.steps) {
    peak = std::max(peak, step.peaks.allocated);
  }
  request.cap = peak;
  EXPECT_EQ(ReportOf(request).end, EndKind::kRan);
  request.cap = peak - Bytes(1);
  const Report refused = ReportOf(request);
  EXPECT_EQ(refused.end, EndKind::kOutOfMemory);
  EXPECT_EQ(refused.cap, peak - Bytes(1));
  EXPECT_EQ(refused.steps.back().failed_requests, 1);
  EXPECT_LE(refused.steps.back().peaks.allocated, peak - Bytes(1));
}

TEST(WorkerMemoryTest, ABatchBeyondAnyMemoryIsOutOfMemory) {
  TrialRequest request = RequestFor("linear4", kRow);
  request.batch = kMaxDimension;
  const Report report = ReportOf(request);
  EXPECT_EQ(report.end, EndKind::kOutOfMemory);
  EXPECT_EQ(
      report.message,
      "CPU out of memory: tried to allocate 32.0 GiB beside 1.00 KiB, cap "
      "1.00 GiB");
}

TEST(WorkerMemoryTest, AModelLargerThanTheCapFailsWhileLoading) {
  TrialRequest request = RequestFor("mlp", "float32[B,64]");
  request.cap = KiB(40);
  const Report report = ReportOf(request);
  EXPECT_EQ(report.end, EndKind::kOutOfMemory);
  EXPECT_TRUE(report.failed_while_loading);
  EXPECT_EQ(report.load_failed_requests, 1);
  EXPECT_TRUE(report.steps.empty());
}

}  // namespace
}  // namespace memplan::gpu
