#include "server/workers/process_trial_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "cuda/worker/messages/messages.h"
#include "planner/base/format.h"
#include "server/base/reason.h"
#include "server/workers/scratch_folders.h"
#include "tests/server/core/fake_control_groups.h"
#include "tests/support/scripted_model.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace memplan {
namespace {

using ::memplan::testing::FakeControlGroups;
using ::memplan::testing::IsOk;
using ::memplan::testing::ScriptedModel;
using ::memplan::testing::StatusIs;
using ::memplan::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ProcessTrialRunnerTest : public ::testing::Test {
 protected:
  ProcessTrialRunnerTest() { options_.program = MEMPLAN_SCRIPTED_WORKER; }

  // A trial of batch 8 of a model whose worker meets `situation`.
  TrialOrder Order(const std::string& situation) {
    return OrderOf("{\"on_batch\": {\"*\": \"" + situation + "\"}}");
  }
  TrialOrder OrderOf(const std::string& script) {
    TrialOrder order;
    order.request.model_path = temp_.Path("model.pt");
    std::ofstream(order.request.model_path) << ScriptedModel(script);
    order.request.batch = 8;
    order.request.steps = 2;
    order.request.cap = GiB(1);
    order.device_id = "cpu";
    order.purpose = TrialPurpose::kVerify;
    order.timeout = std::chrono::seconds(30);
    order.trace_path = temp_.Path("1.trace");
    return order;
  }
  static TrialOrder OnGpu(TrialOrder order) {
    order.device_id = "GPU-1";
    order.request.device = gpu::DeviceKind::kCuda;
    return order;
  }

  absl::StatusOr<TrialResult> Run(const TrialOrder& order) {
    runner_ = MakeProcessTrialRunner(options_);
    auto result =
        runner_->Run(order, cancel_, [this](const gpu::Progress& progress) {
          phases_.push_back(progress.phase);
          if (on_progress_) on_progress_(progress);
        });
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
    return result;
  }
  Trial RunOk(const TrialOrder& order) {
    const auto result = Run(order);
    EXPECT_THAT(result, IsOk());
    if (!result.ok()) return {};
    EXPECT_FALSE(result->refused);
    return result->trial;
  }
  // The scripted worker under another name, which it takes as an order.
  void Rename(const std::string& name) {
    std::filesystem::create_symlink(options_.program, temp_.Path(name));
    options_.program = temp_.Path(name);
  }

  TempDir temp_;
  WorkerOptions options_;
  CancelSignal cancel_;
  std::unique_ptr<ProcessTrialRunner> runner_;
  std::vector<std::string> phases_;
  std::function<void(const gpu::Progress&)> on_progress_;
};

// By default 1 MiB, and 1 MiB a sample.
TEST_F(ProcessTrialRunnerTest, TellsWhatTheWorkerReports) {
  const Trial trial = RunOk(Order(""));
  EXPECT_EQ(trial.outcome, TrialOutcome::kFits);
  EXPECT_EQ(trial.message, "");
  EXPECT_EQ(trial.batch, 8);
  EXPECT_EQ(trial.purpose, TrialPurpose::kVerify);
  EXPECT_EQ(trial.steps.size(), 2u);
  EXPECT_EQ(TrialPeaks(trial).requested, MiB(9));
  EXPECT_EQ(trial.load_peaks.requested, MiB(1));
  EXPECT_EQ(trial.cap, GiB(1));
  EXPECT_EQ(trial.context, std::nullopt);
  EXPECT_GT(trial.seconds, 0);
  EXPECT_GT(trial.trace_events, 0);
  EXPECT_FALSE(trial.trace_overflowed);
  EXPECT_THAT(phases_, ElementsAre("load", "step", "step", "step", "report"));
  EXPECT_TRUE(std::filesystem::exists(temp_.Path("1.trace")));
  EXPECT_EQ(runner_->Counts().started, 1);
  EXPECT_EQ(runner_->Counts().exited, 1);
}

TEST_F(ProcessTrialRunnerTest, DropsTheTraceWithoutAPath) {
  TrialOrder order = Order("");
  order.trace_path.clear();
  EXPECT_GT(RunOk(order).trace_events, 0);
  EXPECT_FALSE(std::filesystem::exists(temp_.Path("1.trace")));
}

TEST_F(ProcessTrialRunnerTest, GoesOnWhenTheTraceCannotBeKept) {
  TrialOrder order = Order("");
  order.trace_path = temp_.Path("no/such/folder/1.trace");
  EXPECT_EQ(RunOk(order).outcome, TrialOutcome::kFits);
}

TEST_F(ProcessTrialRunnerTest, TellsThatMemoryRanOut) {
  const Trial trial = RunOk(OrderOf("{\"limit_batch\": 7}"));
  EXPECT_EQ(trial.outcome, TrialOutcome::kOutOfMemory);
  EXPECT_EQ(trial.message, "out of memory in step 1");
}

// 25 GB/s of 4,800, as the scripted worker has it.
TEST_F(ProcessTrialRunnerTest, TakesMemoryThatSpilledForMemoryThatRanOut) {
  const Trial trial = RunOk(OnGpu(OrderOf(R"({"spills_above": 7})")));
  EXPECT_EQ(trial.outcome, TrialOutcome::kOutOfMemory);
  EXPECT_EQ(trial.end_class, "spilled");
  EXPECT_THAT(trial.message, HasSubstr("at 25.0 GB/s where the card's own does "
                                       "4800.0"));
  EXPECT_EQ(trial.steps.size(), 2u);
  EXPECT_EQ(RunOk(OnGpu(OrderOf(R"({"spills_above": 8})"))).outcome,
            TrialOutcome::kFits);
}

TEST_F(ProcessTrialRunnerTest, TellsTheModelsOwnWords) {
  const Trial failed = RunOk(Order("model fails"));
  EXPECT_EQ(failed.outcome, TrialOutcome::kModelFailed);
  EXPECT_EQ(failed.message, "expected scalar type Long but found Float");
  EXPECT_EQ(RunOk(Order("shape refused")).outcome, TrialOutcome::kShapeRefused);
}

TEST_F(ProcessTrialRunnerTest, TellsThatTheRequestDoesNotGoWithTheModel) {
  const auto result = Run(Order("refuses inputs"));
  ASSERT_THAT(result, IsOk());
  ASSERT_TRUE(result->refused);
  EXPECT_EQ(result->refused->field, "inputs");
  EXPECT_THAT(result->refused->message, HasSubstr("at most 2 argument(s)"));
}

TEST_F(ProcessTrialRunnerTest, AsksForTheContextWhileTheWorkerWaits) {
  std::string device;
  options_.begin_context = [&](const std::string& device_id) -> ContextReader {
    device = device_id;
    return [](int64_t pid, Bytes reserved) -> std::optional<ContextReading> {
      EXPECT_EQ(kill(static_cast<pid_t>(pid), 0), 0) << "it is alive";
      return ContextReading{reserved + MiB(700), "nvml_process"};
    };
  };
  const Trial trial = RunOk(OnGpu(Order("")));
  EXPECT_EQ(device, "GPU-1");
  // 9 MiB in segments of 2 MiB.
  EXPECT_EQ(trial.context, MiB(10) + MiB(700));
  EXPECT_EQ(trial.context_source, "nvml_process");
}

TEST_F(ProcessTrialRunnerTest, FallsBackOnWhatTheWorkerSeesOfTheDevice) {
  options_.begin_context = [](const std::string&) { return nullptr; };
  const Trial trial = RunOk(OnGpu(Order("")));
  EXPECT_EQ(trial.context, Bytes(0));  // what the script pretends
  EXPECT_EQ(trial.context_source, "device_difference");
}

TEST_F(ProcessTrialRunnerTest, TellsWhichSignalKilledTheWorker) {
  const Trial trial = RunOk(Order("dies by signal 9"));
  EXPECT_EQ(trial.outcome, TrialOutcome::kWorkerDied);
  EXPECT_THAT(trial.message, AllOf(HasSubstr("was killed by signal 9 (Killed)"),
                                   HasSubstr("in its phase `step`")));
  EXPECT_EQ(trial.batch, 8);
  EXPECT_EQ(runner_->Counts().killed_by_signal, 1);
}

TEST_F(ProcessTrialRunnerTest, TellsTheExitCodeOfAWorkerWithoutAReport) {
  const Trial trial = RunOk(Order("exits"));
  EXPECT_EQ(trial.outcome, TrialOutcome::kWorkerDied);
  EXPECT_THAT(trial.message, HasSubstr("ended with exit code 7"));
  EXPECT_EQ(runner_->Counts().died, 1);
}

TEST_F(ProcessTrialRunnerTest, TellsTheLastWordsOfAWorkerThatAborts) {
  TrialOrder order = Order("");
  order.request.model_path = temp_.Path("missing.pt");
  const Trial trial = RunOk(order);
  EXPECT_EQ(trial.outcome, TrialOutcome::kWorkerDied);
  EXPECT_THAT(trial.message,
              AllOf(HasSubstr("signal 6 (Aborted)"),
                    HasSubstr("its last words: scripted worker: "),
                    HasSubstr("cannot open")));
}

TEST_F(ProcessTrialRunnerTest, KillsATrialThatTakesTooLong) {
  TrialOrder order = Order("hangs on");
  order.timeout = std::chrono::milliseconds(300);
  const Trial trial = RunOk(order);
  EXPECT_EQ(trial.outcome, TrialOutcome::kTimedOut);
  EXPECT_THAT(trial.message, HasSubstr("longer than 0.3 s"));
  EXPECT_EQ(runner_->Counts().timed_out, 1);
}

TEST_F(ProcessTrialRunnerTest, KillsAWorkerThatSaysNoHello) {
  Rename("says-no-hello");
  options_.start_timeout = std::chrono::milliseconds(50);
  const Trial trial = RunOk(Order(""));
  EXPECT_EQ(trial.outcome, TrialOutcome::kWorkerDied);
  EXPECT_THAT(trial.message, HasSubstr("did not say hello within 0.05 s"));
  EXPECT_EQ(runner_->Counts().timed_out, 1);
}

TEST_F(ProcessTrialRunnerTest, TellsThatTheWorkerDiedAtOnce) {
  Rename("dies-at-once");
  const Trial trial = RunOk(Order(""));
  EXPECT_EQ(trial.outcome, TrialOutcome::kWorkerDied);
  EXPECT_THAT(trial.message, HasSubstr("in its phase `start`"));
}

TEST_F(ProcessTrialRunnerTest, RefusesAWorkerOfAnotherRelease) {
  Rename("speaks-another-version");
  const auto result = Run(Order(""));
  EXPECT_THAT(
      result,
      StatusIs(absl::StatusCode::kFailedPrecondition,
               HasSubstr(absl::StrCat("version ", gpu::kProtocolVersion))));
  EXPECT_EQ(ReasonOf(result.status()), "WORKER_UNUSABLE");
}

TEST_F(ProcessTrialRunnerTest, RunsUnderASandboxThatIsRequired) {
  options_.sandbox = SandboxMode::kRequire;
  EXPECT_EQ(RunOk(Order("")).outcome, TrialOutcome::kFits);
  EXPECT_EQ(runner_->Sandbox().layers.size(), 3u);
}

TEST_F(ProcessTrialRunnerTest, RunsNothingWithoutASandboxThatIsRequired) {
  Rename("lacks-landlock");
  options_.sandbox = SandboxMode::kRequire;
  const auto result = Run(Order(""));
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kFailedPrecondition,
                               HasSubstr("the kernel has no Landlock")));
  EXPECT_EQ(ReasonOf(result.status()), "SANDBOX_MISSING");
  EXPECT_EQ(ReasonOf(runner_->LearnSandbox(cancel_)), "SANDBOX_MISSING");
}

TEST_F(ProcessTrialRunnerTest, TellsWhatASandboxLacksAndRuns) {
  Rename("lacks-landlock");
  options_.sandbox = SandboxMode::kAuto;
  EXPECT_EQ(RunOk(Order("")).outcome, TrialOutcome::kFits);
  EXPECT_THAT(runner_->LearnSandbox(cancel_), IsOk());
  EXPECT_THAT(SandboxLine(runner_->Sandbox()),
              HasSubstr("landlock missing (the kernel has no Landlock)"));
}

TEST_F(ProcessTrialRunnerTest, RefusesASandboxThatNoWorkerCanTry) {
  Rename("dies-at-once");
  options_.sandbox = SandboxMode::kRequire;
  runner_ = MakeProcessTrialRunner(options_);
  EXPECT_EQ(ReasonOf(runner_->LearnSandbox(cancel_)), "SANDBOX_MISSING");
}

TEST_F(ProcessTrialRunnerTest, LeavesNoScratchFolderBehind) {
  options_.scratch_path = temp_.Path("scratch");
  EXPECT_THAT(EmptyScratchFolders(options_.scratch_path), IsOk());
  RunOk(Order(""));
  EXPECT_TRUE(std::filesystem::is_empty(options_.scratch_path));
}

std::vector<std::string> Names(const std::vector<SandboxLayer>& layers) {
  std::vector<std::string> names;
  for (const SandboxLayer& layer : layers) names.push_back(layer.name);
  return names;
}

TEST_F(ProcessTrialRunnerTest, TellsTheDaemonsLayersBeforeAWorkerTriedItsOwn) {
  options_.scratch_path = temp_.Path("scratch");
  options_.memory_groups = MemoryGroups::Open(Bytes(0));
  runner_ = MakeProcessTrialRunner(options_);
  const SandboxStatus status = runner_->Sandbox();
  EXPECT_THAT(Names(AllLayers(status)),
              ElementsAre("scratch_folder", "memory_limit"));
  EXPECT_THAT(SandboxLine(status),
              AllOf(HasSubstr("all the rights of this daemon; scratch_folder"),
                    HasSubstr("memory_limit off (worker_memory is 0)")));
}

TEST_F(ProcessTrialRunnerTest, BoundsAWorkerBeforeItGetsItsRequest) {
  FakeControlGroups groups;
  options_.memory_groups = MemoryGroups::Open(MiB(64), groups.system());
  std::string bounded;
  on_progress_ = [&](const gpu::Progress&) {
    if (bounded.empty()) bounded = groups.Read("trial-1/cgroup.procs");
  };
  EXPECT_EQ(RunOk(Order("")).outcome, TrialOutcome::kFits);
  EXPECT_NE(bounded, "");
  EXPECT_EQ(groups.removed, 1);
}

TEST_F(ProcessTrialRunnerTest, TellsThatItsMemoryLimitKilledAWorker) {
  FakeControlGroups groups;
  options_.memory_groups = MemoryGroups::Open(MiB(64), groups.system());
  groups.new_group["memory.events"] = "oom 1\noom_kill 1\n";
  const Trial killed = RunOk(Order("dies by signal 9"));
  EXPECT_EQ(killed.outcome, TrialOutcome::kWorkerDied);
  EXPECT_EQ(killed.end_class, "host-memory");
  EXPECT_THAT(killed.message,
              AllOf(HasSubstr("more host memory than"),
                    HasSubstr("worker_memory, 64.0 MiB; raise it")));
  groups.new_group["memory.events"] = "oom 0\noom_kill 0\n";
  const Trial other = RunOk(Order("dies by signal 9"));
  EXPECT_THAT(other.message, HasSubstr("killed by signal 9"));
  EXPECT_EQ(other.end_class, "");
}

TEST_F(ProcessTrialRunnerTest, RunsNoWorkerThatItCannotBound) {
  FakeControlGroups groups;
  options_.memory_groups = MemoryGroups::Open(MiB(64), groups.system());
  groups.new_group.erase("cgroup.procs");
  EXPECT_EQ(ReasonOf(Run(Order("")).status()), "HOST_EXHAUSTED");
  EXPECT_EQ(runner_->Counts().start_failed, 1);
  EXPECT_EQ(groups.removed, 1);
}

struct Misbehaviour {
  std::string situation;
  std::string message;
};

class MisbehavingWorkerTest
    : public ProcessTrialRunnerTest,
      public ::testing::WithParamInterface<Misbehaviour> {};

TEST_P(MisbehavingWorkerTest, CostsItsOwnTrialAlone) {
  const Trial trial = RunOk(Order(GetParam().situation));
  EXPECT_EQ(trial.outcome, TrialOutcome::kWorkerDied);
  EXPECT_THAT(trial.message, HasSubstr(GetParam().message));
  EXPECT_EQ(runner_->Counts().started, 1);
  EXPECT_EQ(runner_->Counts().protocol_error + runner_->Counts().died, 1);
}

INSTANTIATE_TEST_SUITE_P(Situations, MisbehavingWorkerTest,
                         ::testing::ValuesIn<Misbehaviour>({
                             {"half a frame", "without a report"},
                             {"frame too long",
                              "spoke nonsense and was killed"},
                             {"nonsense", "spoke nonsense and was killed"},
                             {"hello again", "a second time"},
                         }),
                         [](const auto& test) {
                           std::string name = test.param.situation;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

TEST_F(ProcessTrialRunnerTest, TakesTheReportOfAWorkerThatDoesNotExit) {
  options_.exit_timeout = std::chrono::milliseconds(50);
  EXPECT_EQ(RunOk(Order("lingers")).outcome, TrialOutcome::kFits);
  EXPECT_EQ(runner_->Counts().lingered, 1);
}

TEST_F(ProcessTrialRunnerTest, PassesOverATraceThatIsNonsense) {
  const Trial trial = RunOk(Order("wild trace header"));
  EXPECT_EQ(trial.outcome, TrialOutcome::kFits);
  EXPECT_EQ(trial.trace_events, 0);
  EXPECT_FALSE(std::filesystem::exists(temp_.Path("1.trace")));
}

TEST_F(ProcessTrialRunnerTest, FlagsATraceThatOverflowed) {
  options_.trace_bytes = MiB(2);
  const Trial trial = RunOk(Order("overflows trace"));
  EXPECT_EQ(trial.outcome, TrialOutcome::kFits);
  EXPECT_TRUE(trial.trace_overflowed);
  EXPECT_TRUE(std::filesystem::exists(temp_.Path("1.trace")));
}

TEST_F(ProcessTrialRunnerTest, SealsTheTraceAgainstResizing) {
  EXPECT_EQ(RunOk(Order("resizes trace")).outcome, TrialOutcome::kFits);
}

TEST_F(ProcessTrialRunnerTest, KillsTheWorkerWhenCancelled) {
  TrialOrder order = Order("hangs on");
  on_progress_ = [this](const gpu::Progress& progress) {
    if (progress.phase == "step") cancel_.Cancel();
  };
  EXPECT_THAT(Run(order), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(runner_->Counts().cancelled, 1);
}

TEST_F(ProcessTrialRunnerTest, KillsAWorkerThatStartsWhenCancelled) {
  Rename("says-no-hello");
  cancel_.Cancel();
  EXPECT_THAT(Run(Order("")), StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(ProcessTrialRunnerTest, RunsTrialsBesideEachOther) {
  const auto runner = MakeProcessTrialRunner(options_);
  const TrialOrder order = Order("");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, own = order]() mutable {
      own.trace_path.clear();
      CancelSignal cancel;
      const auto result = runner->Run(own, cancel, [](const gpu::Progress&) {});
      ASSERT_THAT(result, IsOk());
      EXPECT_EQ(result->trial.outcome, TrialOutcome::kFits);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runner->Counts().started, 4);
  EXPECT_EQ(runner->Counts().exited, 4);
}

TEST_F(ProcessTrialRunnerTest, SaysThatTheProgramIsMissingAndWhatToDo) {
  options_.program = temp_.Path("missing");
  const auto result = Run(Order(""));
  EXPECT_THAT(result,
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(options_.program),
                             HasSubstr("is missing"), HasSubstr("--worker"))));
  EXPECT_EQ(ReasonOf(result.status()), "WORKER_UNUSABLE");
  EXPECT_EQ(runner_->CheckUsable(), result.status());
  EXPECT_EQ(runner_->Counts().start_failed, 1);
}

TEST_F(ProcessTrialRunnerTest, SaysThatTheProgramCannotBeExecuted) {
  options_.program = temp_.Path("text");
  std::ofstream(options_.program) << "no program";
  chmod(options_.program.c_str(), 0600);
  EXPECT_THAT(Run(Order("")), StatusIs(absl::StatusCode::kFailedPrecondition,
                                       HasSubstr("cannot be executed")));
  chmod(options_.program.c_str(), 0700);
  EXPECT_THAT(Run(Order("")), StatusIs(absl::StatusCode::kFailedPrecondition));
  options_.program = temp_.path();
  EXPECT_THAT(Run(Order("")), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(ProcessTrialRunnerTest, SaysThatTheProgramLacksItsLibraries) {
  options_.program = temp_.Path("unloadable");
  std::ofstream(options_.program)
      << "#!/bin/sh\necho 'libtorch.so: cannot open shared object' >&2\n"
         "exit 127\n";
  chmod(options_.program.c_str(), 0700);
  const auto result = Run(Order(""));
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kFailedPrecondition,
                               AllOf(HasSubstr("libtorch.so"),
                                     HasSubstr("--worker-library-path"))));
  EXPECT_EQ(ReasonOf(result.status()), "WORKER_UNUSABLE");
}

}  // namespace
}  // namespace memplan
