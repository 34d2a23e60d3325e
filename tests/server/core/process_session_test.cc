// Sessions with real processes of the scripted worker.
#include "server/workers/process_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "server/base/reason.h"
#include "tests/support/scripted_model.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::ScriptedModel;
using ::memplan::testing::StatusIs;
using ::memplan::testing::TempDir;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ProcessSessionTest : public ::testing::Test {
 protected:
  ProcessSessionTest() {
    options_.program = MEMPLAN_SCRIPTED_WORKER;
    runner_ = MakeProcessTrialRunner(options_);
  }

  // Of a model that behaves as `on_batch` has it.
  void Begin(const std::string& on_batch = "") {
    model_ = temp_.Path("model.pt");
    std::ofstream(model_) << ScriptedModel("{\"on_batch\": {" + on_batch +
                                           "}}");
    auto session =
        runner_->Begin({"GPU-1", gpu::DeviceKind::kCuda, 0}, cancel_);
    ASSERT_THAT(session, IsOk());
    session_ = *std::move(session);
  }
  TrialOrder Order(int64_t batch, bool stay = true) {
    TrialOrder order;
    order.request.model_path = model_;
    order.request.device = gpu::DeviceKind::kCuda;
    order.request.batch = batch;
    order.request.steps = 2;
    order.request.stay = stay;
    order.device_id = "GPU-1";
    order.timeout = std::chrono::seconds(30);
    order.trace_path = temp_.Path(std::to_string(batch) + ".trace");
    return order;
  }
  Trial Run(int64_t batch, bool stay = true) {
    const auto result = session_->Run(Order(batch, stay), [](const auto&) {});
    EXPECT_THAT(result, IsOk());
    return result.ok() ? result->trial : Trial{};
  }
  CallsOrder Convolution() const {
    DistinctCall call;
    call.operator_name = "aten::convolution";
    call.has_signature = true;
    call.arguments.push_back(
        {ArgumentKind::kTensor, false, "float32", {8, 1, 1, 1}});
    return {.calls = {.calls = {call}, .cap = {}},
            .timeout = std::chrono::seconds(30)};
  }
  void ExpectNoChild() {
    session_.reset();
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
  }

  TempDir temp_;
  WorkerOptions options_;
  CancelSignal cancel_;
  std::string model_;
  std::unique_ptr<ProcessTrialRunner> runner_;
  std::unique_ptr<WorkerSession> session_;
};

TEST_F(ProcessSessionTest, TakesOrderAfterOrderInOneProcess) {
  Begin();
  session_->Prepare(Order(1), gpu::Preparation::kProgram);
  const auto prepared = session_->WaitUntilPrepared();
  ASSERT_THAT(prepared, IsOk());
  EXPECT_EQ(prepared->device.device_name, "Scripted GPU");
  EXPECT_EQ(prepared->worker_version, "scripted");
  EXPECT_EQ(Run(8).outcome, TrialOutcome::kFits);
  EXPECT_EQ(Run(32).outcome, TrialOutcome::kFits);
  const auto calls = session_->RunCalls(Convolution());
  ASSERT_THAT(calls, IsOk());
  EXPECT_THAT(calls->results, SizeIs(1));
  EXPECT_TRUE(session_->TakesOrders());
  session_->End();
  EXPECT_FALSE(session_->TakesOrders());
  ExpectNoChild();
  EXPECT_EQ(runner_->Counts().started, 1);
  EXPECT_EQ(runner_->Counts().exited, 1);
  EXPECT_TRUE(std::filesystem::exists(temp_.Path("8.trace")));
  EXPECT_TRUE(std::filesystem::exists(temp_.Path("32.trace")));
}

TEST_F(ProcessSessionTest, PreparesAgainBetweenOrders) {
  Begin();
  EXPECT_EQ(Run(32).outcome, TrialOutcome::kFits);
  session_->Prepare(Order(1), gpu::Preparation::kProgram);
  EXPECT_THAT(session_->WaitUntilPrepared(), IsOk());
  EXPECT_EQ(Run(58).outcome, TrialOutcome::kFits);
  session_->Prepare(Order(1), gpu::Preparation::kProgram);
  ExpectNoChild();
  EXPECT_EQ(runner_->Counts().started, 1);
  EXPECT_TRUE(std::filesystem::exists(temp_.Path("32.trace")));
  EXPECT_TRUE(std::filesystem::exists(temp_.Path("58.trace")));
}

TEST_F(ProcessSessionTest, TellsAPreparationThatFailsAfterARunAsTheTrial) {
  Begin("\"prepare\": \"dies by signal 9\"");
  EXPECT_EQ(Run(32).outcome, TrialOutcome::kFits);
  session_->Prepare(Order(1), gpu::Preparation::kProgram);
  EXPECT_THAT(session_->WaitUntilPrepared(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("signal 9")));
  EXPECT_EQ(Run(58).outcome, TrialOutcome::kWorkerDied);
  EXPECT_FALSE(session_->TakesOrders());
  EXPECT_FALSE(std::filesystem::exists(temp_.Path("58.trace")));
}

TEST_F(ProcessSessionTest, AnotherThreadInterruptsARun) {
  Begin("\"32\": \"hangs on\"");
  std::thread other([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    session_->Interrupt();
  });
  EXPECT_THAT(session_->Run(Order(32), [](const auto&) {}),
              StatusIs(absl::StatusCode::kCancelled));
  other.join();
  EXPECT_FALSE(session_->TakesOrders());
  ExpectNoChild();
  EXPECT_EQ(runner_->Counts().cancelled, 1);
  EXPECT_EQ(runner_->Counts().died, 0);
}

TEST_F(ProcessSessionTest, AnInterruptedSessionRunsNothing) {
  Begin();
  session_->Interrupt();
  EXPECT_THAT(session_->Run(Order(8), [](const auto&) {}),
              StatusIs(absl::StatusCode::kCancelled));
  ExpectNoChild();
}

TEST_F(ProcessSessionTest, EndsWithARunThatIsTheLast) {
  Begin();
  EXPECT_EQ(Run(8, /*stay=*/false).outcome, TrialOutcome::kFits);
  EXPECT_FALSE(session_->TakesOrders());
  EXPECT_EQ(runner_->Counts().exited, 1);
  EXPECT_THAT(session_->RunCalls(Convolution()),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("gone")));
}

TEST_F(ProcessSessionTest, KillsAWorkerThatWaits) {
  Begin();
  session_->Prepare(Order(1), gpu::Preparation::kProgram);
  ASSERT_THAT(session_->WaitUntilPrepared(), IsOk());
  ExpectNoChild();
  EXPECT_EQ(runner_->Counts().cancelled, 1);
}

TEST_F(ProcessSessionTest, KillsAWorkerThatIsStillPreparing) {
  Begin("\"prepare\": \"hangs on\"");
  session_->Prepare(Order(1), gpu::Preparation::kProgram);
  ExpectNoChild();
  EXPECT_EQ(runner_->Counts().cancelled, 1);
}

TEST_F(ProcessSessionTest, TellsADeathWhilePreparingAsTheTrial) {
  Begin("\"prepare\": \"dies by signal 9\"");
  session_->Prepare(Order(1), gpu::Preparation::kProgram);
  EXPECT_THAT(session_->WaitUntilPrepared(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("signal 9")));
  const Trial trial = Run(8);
  EXPECT_EQ(trial.outcome, TrialOutcome::kWorkerDied);
  EXPECT_THAT(trial.message, HasSubstr("signal 9"));
  EXPECT_EQ(runner_->Counts().killed_by_signal, 1);
}

TEST_F(ProcessSessionTest, TellsAModelThatDoesNotLoadAsTheTrial) {
  Begin("\"prepare\": \"model fails\"");
  session_->Prepare(Order(1), gpu::Preparation::kProgram);
  const Trial trial = Run(8);
  EXPECT_EQ(trial.outcome, TrialOutcome::kModelFailed);
  EXPECT_TRUE(trial.failed_while_loading);
  EXPECT_EQ(trial.batch, 8);
  EXPECT_FALSE(session_->TakesOrders());
}

TEST_F(ProcessSessionTest, KeepsNoTraceOfATrialThatDiedAfterAnother) {
  Begin("\"32\": \"dies by signal 9\"");
  EXPECT_EQ(Run(8).outcome, TrialOutcome::kFits);
  const Trial trial = Run(32);
  EXPECT_EQ(trial.outcome, TrialOutcome::kWorkerDied);
  EXPECT_EQ(trial.trace_events, 0);
  EXPECT_FALSE(std::filesystem::exists(temp_.Path("32.trace")));
  ExpectNoChild();
}

TEST_F(ProcessSessionTest, EndsAWorkerThatLiesAboutCalls) {
  Begin("\"calls\": \"too many results\"");
  EXPECT_EQ(Run(8).outcome, TrialOutcome::kFits);
  EXPECT_THAT(session_->RunCalls(Convolution()),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("nonsense")));
  EXPECT_FALSE(session_->TakesOrders());
  EXPECT_EQ(runner_->Counts().protocol_error, 1);
}

TEST_F(ProcessSessionTest, IsCancelledInACall) {
  Begin("\"calls\": \"hangs on\"");
  EXPECT_EQ(Run(8).outcome, TrialOutcome::kFits);
  std::thread canceller([this] { cancel_.Cancel(); });
  EXPECT_THAT(session_->RunCalls(Convolution()),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("")));
  canceller.join();
  ExpectNoChild();
  EXPECT_EQ(runner_->Counts().cancelled, 1);
}

TEST_F(ProcessSessionTest, IsCancelledWhilePreparing) {
  Begin("\"prepare\": \"hangs on\"");
  session_->Prepare(Order(1), gpu::Preparation::kProgram);
  cancel_.Cancel();
  EXPECT_THAT(session_->WaitUntilPrepared(),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("")));
  ExpectNoChild();
}

}  // namespace
}  // namespace memplan
