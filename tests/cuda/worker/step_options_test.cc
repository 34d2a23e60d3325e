// The ways in which a step can be run, as the worker runs them. What each of them
// asks for beside Python is as_python_test.py's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "tests/cuda/worker/worker_process.h"

namespace memplan::gpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kRow[] = "float32[B,4]";
constexpr char kWide[] = "float32[B,64]";

std::string PathOf(const std::string& name) {
  return RequestFor(name, kRow).model_path;
}

TrialRequest WithLoss(const std::string& loss, const std::string& targets) {
  TrialRequest request = TrainingOf("mlp", kWide, Optimizer::kSgd);
  request.loss_path = PathOf(loss);
  if (!targets.empty()) {
    request.options.targets = ParseInputSpecs(targets).value();
  }
  return request;
}

std::vector<std::string> PhasesOf(const TrialRequest& request) {
  WorkerProcess worker;
  const TrialRun run = RunTrialIn(worker, request);
  EXPECT_EQ(run.report.end, EndKind::kRan) << run.report.message;
  std::vector<std::string> phases;
  for (const TraceRecord& record : worker.trace().Records()) {
    if (record.event == TraceEvent::kPhase) {
      phases.push_back(worker.trace().NameOf(record));
    }
  }
  return phases;
}

TEST(StepOptionsTest, TellTheFirstMicroBatchFromThoseThatAddToIt) {
  TrialRequest request = TrainingOf("linear4", kRow, Optimizer::kSgd);
  request.steps = 1;
  request.options.accumulation_steps = 2;
  EXPECT_THAT(PhasesOf(request),
              ElementsAre("load", "step0", "step0/forward", "step0/backward",
                          "step0/micro1", "step0/micro1/forward",
                          "step0/micro1/backward", "step0/optimizer", "end"));
}

TEST(StepOptionsTest, RunWhatComesBetweenStepsAndOneMore) {
  TrialRequest request = TrainingOf("linear4", kRow, Optimizer::kSgd);
  request.steps = 1;
  request.options.also_batches = {1};
  request.options.evaluation_batch = 8;
  EXPECT_THAT(
      PhasesOf(request),
      ElementsAre("load", "step0", "step0/forward", "step0/backward",
                  "step0/optimizer", "also0", "also0/forward", "also0/backward",
                  "also0/optimizer", "evaluate", "evaluate/forward", "again",
                  "again/forward", "again/backward", "again/optimizer", "end"));
}

TEST(StepOptionsTest, RunOtherBatchesOfAnInference) {
  TrialRequest request = RequestFor("linear4", kRow);
  request.options.also_batches = {64};
  const Report report = ReportOf(request);
  ASSERT_EQ(report.end, EndKind::kRan) << report.message;
  ASSERT_EQ(report.steps.size(), 5u);
  // Parameters, input and output.
  EXPECT_EQ(report.steps[2].peaks.requested, Bytes(80 + 2 * 32));
  EXPECT_EQ(report.steps[3].peaks.requested, Bytes(80 + 2 * 64 * 16));
  EXPECT_EQ(report.steps[4].peaks.requested, Bytes(80 + 2 * 32));
}

// An evaluation that does not fit fails the trial, though all its steps ran.
TEST(StepOptionsTest, AnEvaluationThatDoesNotFitIsOutOfMemory) {
  TrialRequest request = TrainingOf("linear4", kRow, Optimizer::kSgd);
  request.cap = MiB(1);
  request.options.evaluation_batch = 1 << 16;  // 1 MiB of input
  const Report report = ReportOf(request);
  EXPECT_EQ(report.end, EndKind::kOutOfMemory);
  ASSERT_EQ(report.steps.size(), 4u);
  EXPECT_EQ(report.steps.back().kind, StepKind::kEvaluation);
}

// A scripted model asks an attribute whether it trains. Parameters and gradients,
// the input, the linear layer's output and, without dropout between them, that
// times the scale; the scale as a tensor of 8 bytes and its copy of 4.
TEST(StepOptionsTest, AScriptedModelIsEvaluatedWithoutItsDropout) {
  TrialRequest request = TrainingOf("scripted", kRow, Optimizer::kSgd);
  request.options.evaluation_batch = 2;
  const Report report = ReportOf(request);
  ASSERT_EQ(report.end, EndKind::kRan) << report.message;
  ASSERT_EQ(report.steps.size(), 5u);
  EXPECT_EQ(report.steps[3].kind, StepKind::kEvaluation);
  EXPECT_EQ(report.steps[3].peaks.requested, Bytes(80 + 80 + 3 * 32 + 12));
}

// Parameters and input in single precision; copies of weight, bias and input in
// half of it, and the output.
TEST(StepOptionsTest, AutocastHalvesWhatOperatorsSee) {
  TrialRequest request = RequestFor("linear4", kRow);
  request.options.autocast = Autocast::kBFloat16;
  for (const RunAs run_as : {RunAs::kEager, RunAs::kTorchScript}) {
    request.run_as = run_as;
    const Report report = ReportOf(request);
    ASSERT_EQ(report.end, EndKind::kRan) << report.message;
    EXPECT_EQ(report.steps.back().peaks.requested,
              Bytes(80 + 32 + (32 + 8 + 16) + 16))
        << RunAsName(run_as);
  }
}

TEST(StepOptionsTest, TrainInMixedPrecisionWithEitherExecutor) {
  for (const RunAs run_as : {RunAs::kEager, RunAs::kTorchScript}) {
    for (const Autocast autocast : {Autocast::kBFloat16, Autocast::kFloat16}) {
      TrialRequest request = TrainingOf("dropping", kWide, Optimizer::kAdamW);
      request.options.autocast = autocast;
      request.run_as = run_as;
      const Report report = ReportOf(request);
      EXPECT_EQ(report.end, EndKind::kRan)
          << AutocastName(autocast) << ": " << report.message;
    }
  }
}

// GradScaler would skip the optimizer, whose state would then be missing.
TEST(StepOptionsTest, AStepWithoutFiniteGradientsIsMadeAllTheSame) {
  TrialRequest request =
      TrainingOf("overflowing", kRow, Optimizer::kSgdMomentum);
  request.options.autocast = Autocast::kFloat16;
  const Report report = ReportOf(request);
  ASSERT_EQ(report.end, EndKind::kRan) << report.message;
  // The momentum of weight and bias.
  EXPECT_EQ(report.steps[1].peaks.requested - report.steps[0].peaks.requested,
            Bytes(80));
}

// The model's own loss is its second output; of the first, the mean square.
TEST(StepOptionsTest, AnOutputIsTheLossByItsNumber) {
  TrialRequest request = TrainingOf("own_loss", kRow, Optimizer::kSgd);
  const Report found = ReportOf(request);
  request.options.loss_output = 1;
  const Report named = ReportOf(request);
  ASSERT_EQ(named.end, EndKind::kRan) << named.message;
  EXPECT_EQ(named.steps[1].peaks, found.steps[1].peaks);
  request.options.loss_output = 0;
  const Report square = ReportOf(request);
  ASSERT_EQ(square.end, EndKind::kRan) << square.message;
  EXPECT_GT(square.steps[1].peaks.requested, found.steps[1].peaks.requested);
}

TEST(StepOptionsTest, ALossOfTheUsersIsOpenedInTheSandbox) {
  TrialRequest request = WithLoss("distance", "float32[B,8]");
  request.sandbox = SandboxOrder{.required = false, .scratch_path = ""};
  const Report report = ReportOf(request);
  EXPECT_EQ(report.end, EndKind::kRan) << report.message;
}

struct LossCase {
  std::string name;
  TrialRequest request;
  std::string field;
  std::string message;  // a part of it
};

void PrintTo(const LossCase& test, std::ostream* out) { *out << test.name; }

TrialRequest WithOutput(const std::string& model, int output) {
  TrialRequest request = TrainingOf(model, kRow, Optimizer::kSgd);
  request.options.loss_output = output;
  return request;
}

class LossRefusalTest : public ::testing::TestWithParam<LossCase> {};

TEST_P(LossRefusalTest, NamesTheFieldAndTheNextStep) {
  const Report report = ReportOf(GetParam().request);
  EXPECT_EQ(report.end, EndKind::kBadRequest);
  EXPECT_EQ(report.field, GetParam().field);
  EXPECT_THAT(report.message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Requests, LossRefusalTest,
    ::testing::ValuesIn<LossCase>({
        {"NoSuchOutput", WithOutput("own_loss", 2), "step.loss_output",
         "the model has 2 outputs, and output 2 is to be the loss"},
        {"AnOutputWithoutGradient", WithOutput("detached", 0),
         "step.loss_output", "depends on a parameter"},
        {"NoScalar", WithLoss("distances", "float32[B,8]"),
         "step.loss_model_sha256", "returned a tensor of shape [2]"},
        {"TooFewTargets", WithLoss("distance", ""), "step.targets",
         "takes 2 tensors (scores, target); the model has 1 outputs and there "
         "are 0 targets"},
        {"TooManyTargets", WithLoss("distance", "float32[B,8];float32[B,8]"),
         "step.targets", "takes 2 tensors (scores, target)"},
        {"NoProgram", WithLoss("weights_only", "float32[B,8]"),
         "step.loss_model_sha256", "torch.jit.save"},
    }),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace memplan::gpu
