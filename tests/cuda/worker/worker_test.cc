// How the worker behaves as a process: the conversation, modes, its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cuda/worker/worker_process.h"

namespace memplan::gpu {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

TEST(WorkerTest, GoesThroughTheConversation) {
  WorkerProcess worker;
  const pid_t pid = worker.pid();
  const TrialRun run =
      RunTrialIn(worker, RequestFor("linear4", "float32[B,4]"));
  EXPECT_EQ(run.hello.protocol_version, kProtocolVersion);
  EXPECT_EQ(run.hello.pid, pid);
  EXPECT_EQ(run.hello.torch_version, "2.11.0");
  std::vector<std::string> progress;
  for (const Progress& each : run.progress) {
    progress.push_back(absl::StrCat(each.phase, " ", each.steps_done));
  }
  EXPECT_THAT(progress,
              ElementsAre("load 0", "step 0", "step 1", "step 2", "step 3"));
  ASSERT_TRUE(run.settled.has_value());
  EXPECT_FALSE(run.settled->device_total.has_value());
  EXPECT_EQ(run.report.end, EndKind::kRan);
  EXPECT_EQ(run.report.steps.size(), 3u);
  EXPECT_EQ(run.report.cap, GiB(1));
  EXPECT_EQ(run.exit_code, 0);
}

TEST(WorkerTest, TellsTheBatchOfTheTrace) {
  EXPECT_EQ(ReportOf(RequestFor("conv_norm", "float32[B,3,8,8]")).traced_batch,
            2);
  EXPECT_EQ(ReportOf(RequestFor("scripted", "float32[B,4]")).traced_batch,
            std::nullopt);
}

TEST(WorkerTest, EndsWhenTheDaemonGoesAwayInTheMiddleOfAStep) {
  WorkerProcess worker;
  worker.Send(RequestFor("endless", "float32[B,4]"));
  for (;;) {
    const auto message = worker.Receive();
    ASSERT_TRUE(message.has_value());
    const auto* progress = std::get_if<Progress>(&*message);
    if (progress != nullptr && progress->phase == "step") break;
  }
  worker.CloseChannel();
  EXPECT_NE(worker.Wait(), 0);
}

TEST(WorkerTest, EndsWhenTheDaemonNeverAsks) {
  WorkerProcess worker;
  ASSERT_TRUE(worker.Receive().has_value());  // hello
  worker.CloseChannel();
  EXPECT_NE(worker.Wait(), 0);
}

TEST(WorkerTest, PrintsItsVersionAndNothingElse) {
  FILE* output = popen(MEMPLAN_WORKER " --version", "r");
  ASSERT_NE(output, nullptr);
  char line[200] = {};
  EXPECT_NE(fgets(line, sizeof(line), output), nullptr);
  EXPECT_THAT(std::string(line), StartsWith("memplan-worker "));
  EXPECT_EQ(WEXITSTATUS(pclose(output)), 0);
  EXPECT_EQ(WEXITSTATUS(system(MEMPLAN_WORKER " --help 2>/dev/null")), 2);
}

struct ModeCase {
  std::string name;
  std::string model;
  std::string inputs;
};

void PrintTo(const ModeCase& test, std::ostream* out) { *out << test.name; }

class TrainingTest : public ::testing::TestWithParam<ModeCase> {};

TEST_P(TrainingTest, RunsWithEveryOptimizer) {
  for (const Optimizer optimizer : {Optimizer::kSgd, Optimizer::kSgdMomentum,
                                    Optimizer::kAdam, Optimizer::kAdamW}) {
    const Report report =
        ReportOf(TrainingOf(GetParam().model, GetParam().inputs, optimizer));
    EXPECT_EQ(report.end, EndKind::kRan)
        << OptimizerName(optimizer) << ": " << report.message;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TrainingTest,
                         ::testing::ValuesIn<ModeCase>({
                             {"ConvolutionAndNorm", "conv_norm",
                              "float32[B,3,8,8]"},
                             {"Embedding", "tokens", "int64[B,16]{0..100}"},
                             {"OutputsByName", "named_outputs", "float32[B,4]"},
                             {"Scripted", "scripted", "float32[B,4]"},
                         }),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace memplan::gpu
