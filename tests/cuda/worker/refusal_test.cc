// Requests that do not go with the model, and models that fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "tests/cuda/worker/worker_process.h"

namespace memplan::gpu {
namespace {

using ::testing::HasSubstr;

constexpr char kRow[] = "float32[B,4]";

struct RefusalCase {
  std::string name;
  TrialRequest request;
  EndKind end;
  std::string field;
  std::string message;  // a part of it
};

void PrintTo(const RefusalCase& test, std::ostream* out) { *out << test.name; }

class WorkerRefusalTest : public ::testing::TestWithParam<RefusalCase> {};

TEST_P(WorkerRefusalTest, NamesTheFieldAndTheNextStep) {
  WorkerProcess worker;
  const TrialRun run = RunTrialIn(worker, GetParam().request);
  EXPECT_EQ(run.report.end, GetParam().end);
  EXPECT_EQ(run.report.field, GetParam().field);
  EXPECT_THAT(run.report.message, HasSubstr(GetParam().message));
  EXPECT_EQ(run.exit_code, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Requests, WorkerRefusalTest,
    ::testing::ValuesIn<RefusalCase>({
        {"TooFewInputs", RequestFor("two", kRow), EndKind::kBadRequest,
         "inputs", "takes 2 inputs (left, right), 1 given"},
        {"TooManyInputs", RequestFor("linear4", "float32[B,4];float32[B,4]"),
         EndKind::kBadRequest, "inputs", "takes 1 inputs (x), 2 given"},
        {"AnInputThatIsNoTensor",
         RequestFor("scripted", "float32[B,4];float32[B]"),
         EndKind::kBadRequest, "inputs",
         "input 2 (scale) of the model's forward is float"},
        {"ADimensionWithoutAValue", RequestFor("linear4", "float32[B,T]"),
         EndKind::kBadRequest, "inputs", "T"},
        {"NoParameters",
         TrainingOf("two", "float32[B,4];float32[B,4]", Optimizer::kSgd),
         EndKind::kBadRequest, "mode", "no parameter that requires a gradient"},
        {"Frozen", TrainingOf("frozen", kRow, Optimizer::kSgd),
         EndKind::kBadRequest, "mode", "torch.jit.freeze"},
        {"TracedInEvalMode",
         TrainingOf("conv_norm_eval", "float32[B,3,8,8]", Optimizer::kSgd),
         EndKind::kBadRequest, "mode",
         "`aten::batch_norm` has training=False as a constant; trace it again "
         "as torch.jit.trace(model.train(), example)"},
        {"NothingToTrainOn", TrainingOf("detached", kRow, Optimizer::kSgd),
         EndKind::kBadRequest, "mode", "none of its outputs"},
        {"NoArchive", RequestFor("text", kRow), EndKind::kBadRequest,
         "model_sha256", "not a zip file"},
        {"NoFile", RequestFor("absent", kRow), EndKind::kBadRequest,
         "model_sha256", "cannot be read"},
        {"NoModule", RequestFor("weights_only", kRow), EndKind::kBadRequest,
         "model_sha256", "save the model with torch.jit.save"},
        {"ADtypeTheModelRefuses", RequestFor("linear4", "float64[B,4]"),
         EndKind::kModelFailed, "", "must have the same dtype"},
        {"AnIndexPastTheEmbedding",
         RequestFor("tokens", "int64[B,16]{100..101}"), EndKind::kModelFailed,
         "", "index out of range in self"},
        {"AShapeTheModelRefuses", RequestFor("linear4", "float32[B,5]"),
         EndKind::kShapeRefused, "",
         "mat1 and mat2 shapes cannot be multiplied (2x5 and 4x4)"},
    }),
    [](const auto& test) { return test.param.name; });

TEST(WorkerBatchTest, ABakedBatchIsAShapeRefused) {
  TrialRequest request = RequestFor("baked_batch", "float32[B,16]");
  EXPECT_EQ(ReportOf(request).end, EndKind::kRan);
  request.batch = 3;
  const Report report = ReportOf(request);
  EXPECT_EQ(report.end, EndKind::kShapeRefused);
  EXPECT_EQ(report.message, "shape '[2, 16]' is invalid for input of size 48");
  EXPECT_EQ(report.traced_batch, 2);
}

TEST(WorkerModeTest, AModelTracedInEvalModeStillInfers) {
  EXPECT_EQ(ReportOf(RequestFor("conv_norm_eval", "float32[B,3,8,8]")).end,
            EndKind::kRan);
  EXPECT_EQ(ReportOf(RequestFor("frozen", kRow)).end, EndKind::kRan);
}

TEST(WorkerModeTest, AGpuThatIsNotThereIsNamed) {
  TrialRequest request = RequestFor("linear4", kRow);
  request.device = DeviceKind::kCuda;
  const Report report = ReportOf(request);
  if (report.end == EndKind::kRan) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_EQ(report.end, EndKind::kBadRequest);
  EXPECT_EQ(report.field, "device_id");
  EXPECT_THAT(report.message, HasSubstr("CUDA shows the worker no device"));
}

}  // namespace
}  // namespace memplan::gpu
