// Operator calls that the worker runs alone ask for what they ask for inside the
// model: known from a recording at the very batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "planner/trace/call_text.h"
#include "planner/trace/irregular_calls.h"
#include "planner/trace/symbolic_trace.h"
#include "tests/cuda/worker/recorded_trace_file.h"
#include "tests/cuda/worker/worker_process.h"
#include "tests/planner/trace/recorded_plans.h"

namespace memplan::gpu {
namespace {

using ::memplan::testing::PlansIn;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Trace RecordedAt(int64_t batch, TrialRequest request) {
  WorkerProcess worker;
  request.batch = batch;
  const Report report = RunTrialIn(worker, request).report;
  EXPECT_EQ(report.end, EndKind::kRan) << report.message;
  return PlannersTrace(worker.trace());
}

// What a worker that has just run `request` says of `calls`.
CallsReport ReportOfCalls(TrialRequest request, const RunCalls& calls) {
  WorkerProcess worker;
  request.stay = true;
  EXPECT_EQ(RunOrderIn(worker, request).report.end, EndKind::kRan);
  worker.Send(calls);
  const auto message = worker.Receive();
  worker.Send(End{});
  EXPECT_EQ(worker.Wait(), 0);
  return std::get<CallsReport>(message.value());
}

DistinctCall CallOf(const std::string& name, const std::string& text) {
  DistinctCall call;
  call.operator_name = name;
  EXPECT_TRUE(ReadCallText(text, call).ok()) << text;
  return call;
}

TEST(IsolatedCallTest, AsksForWhatItAsksForInsideTheModel) {
  const TrialRequest request =
      TrainingOf("conv_stack", "float32[B,3,12,12]", Optimizer::kSgdMomentum);
  const Trace at_8 = RecordedAt(8, request);
  const Trace at_32 = RecordedAt(32, request);
  const Trace truth = RecordedAt(48, request);
  const std::vector<Recording> recordings = {{{{"batch", 8}}, &at_8},
                                             {{{"batch", 32}}, &at_32}};
  const SymbolicTrace symbolic = MakeSymbolicTrace(recordings).value();
  const std::vector<DistinctCall> calls =
      IrregularCallsAt(symbolic, {{"batch", 48}}).value();
  EXPECT_GE(calls.size(), 6u);  // three convolutions, forward and backward
  const CallsReport report =
      ReportOfCalls(request, {.calls = calls, .cap = GiB(1)});
  ASSERT_THAT(report.results, SizeIs(calls.size()));

  const CallPlans true_plans = PlansIn(symbolic, at_32, truth);
  for (size_t i = 0; i < calls.size(); ++i) {
    SCOPED_TRACE(calls[i].operator_name + " " + WriteCallText(calls[i]));
    ASSERT_THAT(report.results[i].plans, SizeIs(1)) << report.results[i].fault;
    for (const uint32_t call : calls[i].calls) {
      const uint32_t plan = true_plans.of_call.at(call);
      ASSERT_LT(plan, true_plans.distinct.size());
      EXPECT_EQ(report.results[i].plans[0], true_plans.distinct[plan].at(0));
    }
  }
}

TEST(IsolatedCallTest, TellsOutputsAndScratchInOrder) {
  // Outputs alone: of 8 by 16 doubles, and of 4 by 2 floats.
  const CallsReport report = ReportOfCalls(
      RequestFor("linear4", "float32[B,4]"),
      {.calls = {CallOf("aten::_softmax",
                        "\tfloat64[8,16]{16,1}@cpu\t1\tfalse"),
                 CallOf("aten::mm",
                        "\tfloat32[4,8]{1,4}@cpu\tfloat32[8,2]{2,1}@cpu")},
       .cap = std::nullopt});
  EXPECT_THAT(report.results, ElementsAre(CallResult{{{{0, 8 * 16 * 8}}}, ""},
                                          CallResult{{{{0, 4 * 2 * 4}}}, ""}));
}

TEST(IsolatedCallTest, TakesEveryKindOfArgument) {
  const char kText[] = "\tfloat32[2,3]{3,1}@cpu\t\"tanh\"";
  const CallsReport report = ReportOfCalls(
      RequestFor("linear4", "float32[B,4]"),
      {.calls = {CallOf("aten::gelu", kText),
                 // An index per dimension, of which the first is missing.
                 CallOf("aten::index",
                        "Tensor\tfloat32[5,4]{4,1}@cpu\t*2\t-"
                        "\tint64[3]{1}@cpu"),
                 // Expanded rows, two of the three gradients.
                 CallOf("aten::native_layer_norm_backward",
                        "\tfloat32[6,4]{0,1}@cpu\tfloat32[6,4]{4,1}@cpu\t[4]"
                        "\tfloat32[6,1]{1,1}@cpu\tfloat32[6,1]{1,1}@cpu"
                        "\tfloat32[4]{1}@cpu\tfloat32[4]{1}@cpu"
                        "\t[true,true,false]"),
                 // Scalars, type, layout, device, no pinned memory.
                 CallOf("aten::full",
                        "\t[7]\t#3ff0000000000000\t6\t0\t@cpu\tfalse"),
                 // A generator, which has a default.
                 CallOf("aten::bernoulli", "\tfloat32[9]{1}@cpu\t?")},
       .cap = std::nullopt});
  for (const CallResult& result : report.results) EXPECT_EQ(result.fault, "");
  EXPECT_EQ(report.results.at(3).plans, std::vector<CallPlan>({{{0, 28}}}));
}

TEST(IsolatedCallTest, AFaultIsToldAndTheNextCallRuns) {
  const CallsReport report = ReportOfCalls(
      RequestFor("linear4", "float32[B,4]"),
      {.calls = {CallOf("aten::no_such", "\t7"), CallOf("aten::relu", "\t?"),
                 CallOf("aten::relu", "\tfloat32[2]{1}@cpu\t7"),
                 CallOf("aten::relu", "\tfloat12[2]{1}@cpu"),
                 CallOf("aten::mm",
                        "\tfloat32[4,8]{8,1}@cpu\tfloat32[4,8]{8,1}@cpu"),
                 CallOf("aten::relu", "\tfloat32[1048576]{1}@cpu"),
                 CallOf("aten::relu", "\tfloat32[8]{1}@cpu")},
       .cap = MiB(6)});
  std::vector<std::string> faults;
  for (const CallResult& result : report.results) {
    faults.push_back(result.fault);
  }
  EXPECT_THAT(faults,
              ElementsAre(HasSubstr("no operator aten::no_such"),
                          HasSubstr("argument 1 (self, Tensor) is of a kind"),
                          HasSubstr("more arguments than the 1 of aten::relu"),
                          HasSubstr("unknown type float12"),
                          HasSubstr("cannot be multiplied (4x8 and 4x8)"),
                          // 4 MiB in, 4 MiB out.
                          HasSubstr("more than the cap of 6.00 MiB"), ""));
}

}  // namespace
}  // namespace memplan::gpu
