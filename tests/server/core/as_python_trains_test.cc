#include "server/jobs/as_python_trains.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "planner/trace/text_format.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;

// A step of C++ Adam over one parameter of 1000 bytes.
Trace AdamStep() {
  auto trace = ReadTraceText(
      "M\tload\nA\t1000\t1000\t\nM\tstep0\nM\tstep0/optimizer\n"
      "O\t1\taten::zeros_like\nA\t1000\t2000\taten::zeros_"
      "like\nA\t1000\t3000\taten::zeros_like\n"
      "O\t1\taten::sqrt\nA\t1000\t4000\taten::sqrt\nO\t1\taten::"
      "div\nA\t1000\t5000\taten::div\n"
      "D\t4000\nO\t1\taten::addcdiv_\nD\t5000\nM\tend\n");
  EXPECT_THAT(trace, IsOk());
  return trace.value_or(Trace());
}

bool HasOperator(const Trace& trace, const std::string& name) {
  return std::any_of(
      trace.events.begin(), trace.events.end(), [&](const TraceEvent& event) {
        return event.kind == EventKind::kOperator && trace.Name(event) == name;
      });
}

ProbeSpec Training(gpu::OptimizerImplementation implementation) {
  ProbeSpec spec;
  spec.mode = gpu::Mode::kTrain;
  spec.optimizer = gpu::Optimizer::kAdam;
  spec.optimizer_implementation = implementation;
  return spec;
}

TEST(AsSpecTrainsTest, LeavesWhatLibtorchsOptimizerDid) {
  const auto trace = AsSpecTrains(
      Training(gpu::OptimizerImplementation::kLibtorch), AdamStep());
  ASSERT_THAT(trace, IsOk());
  EXPECT_TRUE(HasOperator(*trace, "aten::addcdiv_"));
}

TEST(AsSpecTrainsTest, PutsPythonsInItsPlace) {
  const auto trace = AsSpecTrains(
      Training(gpu::OptimizerImplementation::kForeach), AdamStep());
  ASSERT_THAT(trace, IsOk());
  EXPECT_TRUE(HasOperator(*trace, "aten::_foreach_sqrt"));
  EXPECT_FALSE(HasOperator(*trace, "aten::div"));
}

TEST(AsSpecTrainsTest, LeavesWhatDoesNotTrain) {
  ProbeSpec spec = Training(gpu::OptimizerImplementation::kForeach);
  spec.mode = gpu::Mode::kInfer;
  EXPECT_THAT(AsSpecTrains(spec, AdamStep()), IsOk());
}

TEST(AsSpecTrainsTest, RefusesATraceOfAnotherAlgorithm) {
  ProbeSpec spec = Training(gpu::OptimizerImplementation::kFused);
  spec.optimizer = gpu::Optimizer::kSgd;
  EXPECT_THAT(AsSpecTrains(spec, AdamStep()),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace memplan
