#include "server/convert/step_options_from_proto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>

#include "server/convert/probe_to_proto.h"
#include "server/convert/spec_from_proto.h"
#include "tests/server/api/reason_matchers.h"

namespace memplan {
namespace {

using memplan::testing::FailsWith;
using memplan::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::Optional;
using StepChange = std::function<void(v1::StepOptions&)>;

v1::ProbeSpec Training() {
  v1::ProbeSpec spec;
  spec.set_model_sha256(std::string(64, 'a'));
  spec.set_device_id("cpu");
  spec.add_inputs("float32[B,3,8,8]");
  spec.set_mode(v1::MODE_TRAIN);
  spec.set_optimizer(v1::OPTIMIZER_ADAMW);
  spec.set_run_as(v1::RUN_AS_EAGER);
  spec.set_cap_bytes(1 << 20);
  spec.mutable_search();
  return spec;
}

v1::ProbeSpec Inference() {
  v1::ProbeSpec spec = Training();
  spec.set_mode(v1::MODE_INFER);
  spec.clear_optimizer();
  return spec;
}

// Every field with a value of its own but `loss_output`, which excludes a loss.
v1::ProbeSpec Everything() {
  v1::ProbeSpec spec = Training();
  (*spec.mutable_dimensions())["C"] = 10;
  v1::StepOptions& step = *spec.mutable_step();
  step.set_autocast(v1::AUTOCAST_FLOAT16);
  step.set_cudnn_benchmark(true);
  step.set_cudnn_deterministic(true);
  step.add_also_batches(17);
  step.add_also_batches(1);
  step.set_accumulation_steps(4);
  step.set_zero_grad(v1::ZERO_GRAD_ZERO);
  step.set_evaluation_batch(256);
  step.set_loss_model_sha256(std::string(64, 'b'));
  step.add_targets("float32[B,C]");
  step.set_optimizer_implementation(v1::OPTIMIZER_IMPLEMENTATION_FOREACH);
  return spec;
}

TEST(ReadStepOptionsTest, LeftOutIsThePlainLoop) {
  const auto spec = SpecFromProto(Training());
  ASSERT_THAT(spec, IsOk());
  EXPECT_EQ(spec->step, gpu::StepOptions{});
  EXPECT_EQ(spec->loss_model_sha256, "");
  EXPECT_EQ(spec->optimizer_implementation,
            gpu::OptimizerImplementation::kLibtorch);
}

TEST(ReadStepOptionsTest, KeepsEverythingThatIsGiven) {
  const auto spec = SpecFromProto(Everything());
  ASSERT_THAT(spec, IsOk());
  EXPECT_EQ(spec->step.autocast, gpu::Autocast::kFloat16);
  EXPECT_TRUE(spec->step.cudnn_benchmark);
  EXPECT_TRUE(spec->step.cudnn_deterministic);
  EXPECT_THAT(spec->step.also_batches, ElementsAre(17, 1));
  EXPECT_EQ(spec->step.accumulation_steps, 4);
  EXPECT_EQ(spec->step.zero_grad, gpu::ZeroGrad::kZero);
  EXPECT_EQ(spec->step.evaluation_batch, 256);
  EXPECT_EQ(spec->loss_model_sha256, std::string(64, 'b'));
  ASSERT_EQ(spec->step.targets.size(), 1U);
  EXPECT_EQ(FormatInputSpec(spec->step.targets[0]), "float32[B,C]");
  EXPECT_EQ(spec->optimizer_implementation,
            gpu::OptimizerImplementation::kForeach);
}

TEST(ReadStepOptionsTest, TakesAnOutputAsTheLoss) {
  v1::ProbeSpec proto = Training();
  proto.mutable_step()->set_loss_output(0);
  const auto spec = SpecFromProto(proto);
  ASSERT_THAT(spec, IsOk());
  EXPECT_THAT(spec->step.loss_output, Optional(0));
}

TEST(ReadStepOptionsTest, ComesBackFromProtoAsItWas) {
  v1::ProbeSpec with_output = Training();
  with_output.mutable_step()->set_loss_output(0);
  for (const v1::ProbeSpec& proto :
       {Everything(), with_output, Training(), Inference()}) {
    const auto spec = SpecFromProto(proto);
    ASSERT_THAT(spec, IsOk());
    const auto again = SpecFromProto(ToProto(*spec));
    ASSERT_THAT(again, IsOk());
    EXPECT_EQ(*again, *spec);
  }
}

struct StepFaultCase {
  std::string name;
  StepChange change;
  std::string field;
  std::string reason = "INVALID_PROBE_SPEC";
};

void PrintTo(const StepFaultCase& test, std::ostream* out) {
  *out << test.name;
}

class StepOptionFaultTest : public ::testing::TestWithParam<StepFaultCase> {};

TEST_P(StepOptionFaultTest, IsRefusedWithItsPath) {
  v1::ProbeSpec proto = Training();
  GetParam().change(*proto.mutable_step());
  EXPECT_THAT(SpecFromProto(proto),
              FailsWith(absl::StatusCode::kInvalidArgument, GetParam().reason,
                        GetParam().field));
}

constexpr char kTooLarge[] = "float32[B,2147483648,2147483648]";

INSTANTIATE_TEST_SUITE_P(
    Faults, StepOptionFaultTest,
    ::testing::ValuesIn<StepFaultCase>({
        {"Autocast",
         [](v1::StepOptions& s) { s.set_autocast(v1::Autocast(9)); },
         "spec.step.autocast"},
        {"ZeroGrad",
         [](v1::StepOptions& s) { s.set_zero_grad(v1::ZeroGrad(9)); },
         "spec.step.zero_grad"},
        {"Implementation",
         [](v1::StepOptions& s) {
           s.set_optimizer_implementation(v1::OptimizerImplementation(9));
         },
         "spec.step.optimizer_implementation"},
        {"NegativeAccumulation",
         [](v1::StepOptions& s) { s.set_accumulation_steps(-1); },
         "spec.step.accumulation_steps"},
        {"TooMuchAccumulation",
         [](v1::StepOptions& s) { s.set_accumulation_steps(1025); },
         "spec.step.accumulation_steps"},
        {"EvaluationBatch",
         [](v1::StepOptions& s) { s.set_evaluation_batch(-5); },
         "spec.step.evaluation_batch"},
        {"AnotherBatch",
         [](v1::StepOptions& s) {
           s.add_also_batches(1);
           s.add_also_batches(0);
         },
         "spec.step.also_batches[1]"},
        {"TooManyOtherBatches",
         [](v1::StepOptions& s) {
           for (int i = 0; i < 9; ++i) s.add_also_batches(1);
         },
         "spec.step.also_batches"},
        {"LossOutput", [](v1::StepOptions& s) { s.set_loss_output(64); },
         "spec.step.loss_output"},
        {"TwoLosses",
         [](v1::StepOptions& s) {
           s.set_loss_output(0);
           s.set_loss_model_sha256(std::string(64, 'b'));
         },
         "spec.step.loss_output"},
        {"LossModel",
         [](v1::StepOptions& s) { s.set_loss_model_sha256("loss.pt"); },
         "spec.step.loss_model_sha256"},
        {"TargetsWithoutALoss",
         [](v1::StepOptions& s) { s.add_targets("float32[B]"); },
         "spec.step.targets"},
        {"TargetsSyntax",
         [](v1::StepOptions& s) {
           s.set_loss_model_sha256(std::string(64, 'b'));
           s.add_targets("float32[B]");
           s.add_targets("float33[B]");
         },
         "spec.step.targets[1]", "INPUT_SPEC_SYNTAX"},
        {"ATargetsDimensionWithoutSize",
         [](v1::StepOptions& s) {
           s.set_loss_model_sha256(std::string(64, 'b'));
           s.add_targets("float32[B,C]");
         },
         "spec.dimensions"},
        {"ATargetTooLarge",
         [](v1::StepOptions& s) {
           s.set_loss_model_sha256(std::string(64, 'b'));
           s.add_targets(kTooLarge);
         },
         "spec.step.targets[0]"},
    }),
    [](const auto& test) { return test.param.name; });

class TrainingAloneTest : public ::testing::TestWithParam<StepFaultCase> {};

TEST_P(TrainingAloneTest, IsRefusedWithAnInference) {
  v1::ProbeSpec proto = Inference();
  GetParam().change(*proto.mutable_step());
  EXPECT_THAT(SpecFromProto(proto),
              FailsWith(absl::StatusCode::kInvalidArgument, GetParam().reason,
                        GetParam().field));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, TrainingAloneTest,
    ::testing::ValuesIn<StepFaultCase>({
        {"Accumulation",
         [](v1::StepOptions& s) { s.set_accumulation_steps(2); },
         "spec.step.accumulation_steps"},
        {"ZeroGrad",
         [](v1::StepOptions& s) { s.set_zero_grad(v1::ZERO_GRAD_ZERO); },
         "spec.step.zero_grad"},
        {"Evaluation", [](v1::StepOptions& s) { s.set_evaluation_batch(2); },
         "spec.step.evaluation_batch"},
        {"LossOutput", [](v1::StepOptions& s) { s.set_loss_output(0); },
         "spec.step.loss_output"},
        {"Loss",
         [](v1::StepOptions& s) {
           s.set_loss_model_sha256(std::string(64, 'b'));
         },
         "spec.step.loss_model_sha256"},
        {"Implementation",
         [](v1::StepOptions& s) {
           s.set_optimizer_implementation(v1::OPTIMIZER_IMPLEMENTATION_FUSED);
         },
         "spec.step.optimizer_implementation"},
    }),
    [](const auto& test) { return test.param.name; });

// What an inference may have as well.
TEST(ReadStepOptionsTest, TakesAutocastAndOtherBatchesOfAnInference) {
  v1::ProbeSpec proto = Inference();
  proto.mutable_step()->set_autocast(v1::AUTOCAST_BFLOAT16);
  proto.mutable_step()->add_also_batches(3);
  proto.mutable_step()->set_cudnn_benchmark(true);
  EXPECT_THAT(SpecFromProto(proto), IsOk());
}

}  // namespace
}  // namespace memplan
