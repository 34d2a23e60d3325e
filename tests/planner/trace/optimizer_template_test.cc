#include "planner/trace/optimizer_template.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/trace/outline.h"
#include "planner/trace/request_stream.h"
#include "planner/trace/symbolic_trace.h"
#include "tests/planner/trace/small_trace.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::SmallTrace;
using ::memplan::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr PythonOptimizer kForeachAdam = {OptimizerAlgorithm::kAdam,
                                          OptimizerLoop::kForeach};

// Two steps of C++ Adam over parameters of 1000 and 600 bytes; the loss is freed
// when the optimizer is done, the states at the end.
std::string AdamSteps(const std::string& activation = "50") {
  const auto update = [](const std::string& parameter,
                         const std::string& bytes) {
    return " | O 1 aten::sqrt | A r" + parameter + " " + bytes +
           " | O 1 aten::div | A q" + parameter + " " + bytes + " | D r" +
           parameter + " | O 1 aten::addcdiv_ | D q" + parameter;
  };
  return "M load | O 1 aten::empty | A p 1000 | A q 600 | M step0 | "
         "M step0/forward | O 1 aten::mm | A y " +
         activation +
         " | M step0/optimizer | O 1 aten::zeros_like | A mp 1000 | A vp 1000" +
         update("p", "1000") + " | O 1 aten::zeros_like | A mq 600 | A vq 600" +
         update("q", "600") +
         " | D y | M step1 | M step1/forward | O 1 aten::mm | A y " +
         activation + " | M step1/optimizer" + update("p", "1000") +
         update("q", "600") + " | D y | M end | D mp | D vp | D mq | D vq";
}

// `1000` asked for, `-1000` freed; a phase by its name.
std::vector<std::string> Story(const Trace& trace) {
  std::vector<std::string> story;
  for (const TraceEvent& event : trace.events) {
    if (event.kind == EventKind::kPhase) {
      story.emplace_back(trace.Name(event));
    } else if (event.kind == EventKind::kAlloc) {
      story.push_back(std::to_string(event.bytes));
    } else if (event.kind == EventKind::kFree) {
      const TraceEvent& alloc = trace.events[trace.blocks[event.link].alloc];
      story.push_back("-" + std::to_string(alloc.bytes));
    }
  }
  return story;
}

int64_t PeakRequested(const Trace& trace) {
  int64_t live = 0;
  int64_t peak = 0;
  for (const TraceEvent& event : trace.events) {
    if (event.kind == EventKind::kAlloc) {
      peak = std::max(peak, live += event.bytes);
    } else if (event.kind == EventKind::kFree) {
      live -= trace.events[trace.blocks[event.link].alloc].bytes;
    }
  }
  return peak;
}

TEST(OptimizerTemplateTest, PutsForeachAdamInPlaceOfTheRecordedOne) {
  const auto trace = WithPythonOptimizer(SmallTrace(AdamSteps()), kForeachAdam);
  ASSERT_THAT(trace, IsOk());
  EXPECT_THAT(
      Story(*trace),
      ElementsAre("load", "1000", "600", "step0", "step0/forward", "50",
                  "step0/optimizer", "1000", "1000", "600", "600", "1000",
                  "600", "-600", "-1000", "-50", "step1", "step1/forward", "50",
                  "step1/optimizer", "1000", "600", "-600", "-1000", "-50",
                  "end", "-1000", "-1000", "-600", "-600"));
  // Blocks and events name each other.
  for (uint32_t b = 0; b < trace->blocks.size(); ++b) {
    EXPECT_EQ(trace->events[trace->blocks[b].alloc].link, b);
    if (b > 0) {
      EXPECT_GT(trace->blocks[b].alloc, trace->blocks[b - 1].alloc);
    }
  }
}

// A step of another batch, and the one that comes last, are steps like any.
TEST(OptimizerTemplateTest, ReplacesTheOptimizerOfEveryStep) {
  std::string steps = AdamSteps();
  for (size_t at = steps.find("step1"); at != std::string::npos;
       at = steps.find("step1")) {
    steps.replace(at, 5, "also0");
  }
  const auto trace = WithPythonOptimizer(SmallTrace(steps), kForeachAdam);
  ASSERT_THAT(trace, IsOk());
  const auto story = Story(*trace);
  ASSERT_GT(story.size(), 11u);
  EXPECT_THAT(std::vector(story.end() - 11, story.end()),
              ElementsAre("also0/optimizer", "1000", "600", "-600", "-1000",
                          "-50", "end", "-1000", "-1000", "-600", "-600"));
}

// Besides weights, states and the activation: foreach takes a copy of all
// parameters, the recorded one two of the largest, Python's for-loop two and what
// the one before left, fused nothing but its counters.
TEST(OptimizerTemplateTest, PeaksAsPythonDoes) {
  const Trace recorded = SmallTrace(AdamSteps());
  const int64_t lasting = 3 * 1600 + 50;
  EXPECT_EQ(PeakRequested(recorded), lasting + 2000);
  const auto peak = [&](OptimizerLoop loop) {
    return PeakRequested(
        *WithPythonOptimizer(recorded, {OptimizerAlgorithm::kAdam, loop}));
  };
  EXPECT_EQ(peak(OptimizerLoop::kForeach), lasting + 1600);
  EXPECT_EQ(peak(OptimizerLoop::kForLoop), lasting + 1000 + 1200);
  EXPECT_EQ(peak(OptimizerLoop::kFused), lasting + 8);  // two counters
}

TEST(OptimizerTemplateTest, GivesTracesThatMakeASymbolicTrace) {
  const Trace small =
      WithPythonOptimizer(SmallTrace(AdamSteps("50")), kForeachAdam).value();
  const Trace large =
      WithPythonOptimizer(SmallTrace(AdamSteps("100")), kForeachAdam).value();
  const std::vector<Recording> recordings = {{{{"batch", 8}}, &small},
                                             {{{"batch", 16}}, &large}};
  const auto symbolic = MakeSymbolicTrace(recordings);
  ASSERT_THAT(symbolic, IsOk());
  EXPECT_THAT(symbolic->similarity_ratios, ElementsAre(1, 1));
  EXPECT_TRUE(symbolic->calls.empty());
}

TEST(OptimizerTemplateTest, LeavesPlainSgdAsItIs) {
  const Trace trace = SmallTrace(
      "M step0 | M step0/backward | O 1 aten::mm | A g 100 | "
      "M step0/optimizer | O 1 aten::add_ | M step1 | D g");
  const PythonOptimizer sgd = {OptimizerAlgorithm::kSgd,
                               OptimizerLoop::kForeach};
  EXPECT_THAT(Story(*WithPythonOptimizer(trace, sgd)),
              ElementsAre("step0", "step0/backward", "100", "step0/optimizer",
                          "step1", "-100"));
}

TEST(OptimizerTemplateTest, RefusesWhatWasNotRecordedWithTheAlgorithm) {
  const auto status_of = [](const std::string& text,
                            OptimizerAlgorithm algorithm) {
    return WithPythonOptimizer(SmallTrace(text),
                               {algorithm, OptimizerLoop::kForeach})
        .status();
  };
  EXPECT_THAT(
      status_of("M step0 | O 1 aten::mm | A x 8", OptimizerAlgorithm::kAdam),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("no phase step0/optimizer")));
  EXPECT_THAT(status_of(AdamSteps(), OptimizerAlgorithm::kSgd),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("not 0 for each parameter")));
  EXPECT_THAT(
      status_of("M step0/optimizer | O 1 aten::clone | A m 1000 | A n 600",
                OptimizerAlgorithm::kAdam),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("2 states that the recorded optimizer makes")));
}

}  // namespace
}  // namespace memplan
