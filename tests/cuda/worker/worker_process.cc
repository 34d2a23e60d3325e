#include "tests/cuda/worker/worker_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>

#include "cuda/worker/messages/frame.h"
#include "planner/plan/input_spec.h"

namespace memplan::gpu {
namespace {

// Long enough for a slow machine under load, short enough to end a test.
constexpr std::chrono::seconds kPatience(100);

// Above the two that the worker gets, so that moving one spares the other.
int MovedUp(int descriptor) {
  constexpr int kAbove = 10;
  const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, kAbove);
  EXPECT_GE(moved, kAbove);
  return moved;
}

pid_t Spawn(int channel, int trace, const char* option) {
  channel = MovedUp(channel);
  trace = MovedUp(trace);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, channel, kChannelDescriptor);
  posix_spawn_file_actions_adddup2(&actions, trace, kTraceDescriptor);
  std::string program = MEMPLAN_WORKER;
  char* arguments[] = {program.data(), const_cast<char*>(option), nullptr};
  pid_t pid = -1;
  EXPECT_EQ(
      posix_spawn(&pid, program.c_str(), &actions, nullptr, arguments, environ),
      0);
  posix_spawn_file_actions_destroy(&actions);
  close(channel);
  close(trace);
  return pid;
}

}  // namespace

WorkerProcess::WorkerProcess(size_t trace_records, const char* option)
    : trace_(trace_records) {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  channel_ = ends[0];
  pid_ = Spawn(ends[1], trace_.descriptor(), option);
  close(ends[1]);
}

WorkerProcess::~WorkerProcess() {
  CloseChannel();
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    Wait();
  }
}

void WorkerProcess::Send(const DaemonMessage& message) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  EXPECT_TRUE(WriteFrame(channel_, Encode(message), deadline).ok());
}

std::optional<WorkerMessage> WorkerProcess::Receive() {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const auto json = ReadFrame(channel_, deadline);
  if (!json.ok()) {
    ADD_FAILURE() << json.status();
    return std::nullopt;
  }
  auto message = DecodeWorkerMessage(*json);
  if (!message.ok()) {
    ADD_FAILURE() << message.status() << " in " << *json;
    return std::nullopt;
  }
  return std::move(*message);
}

void WorkerProcess::CloseChannel() {
  if (channel_ >= 0) close(channel_);
  channel_ = -1;
}

int WorkerProcess::Wait() {
  int status = 0;
  EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TrialRun RunOrderIn(WorkerProcess& worker, const TrialRequest& request) {
  TrialRun run;
  worker.Send(request);
  while (const auto message = worker.Receive()) {
    if (const auto* hello = std::get_if<Hello>(&*message)) {
      run.hello = *hello;
    } else if (const auto* progress = std::get_if<Progress>(&*message)) {
      run.progress.push_back(*progress);
    } else if (const auto* settled = std::get_if<Settled>(&*message)) {
      run.settled = *settled;
      worker.Send(Proceed{});
    } else if (!std::holds_alternative<Sandboxed>(*message)) {
      run.report = std::get<Report>(*message);
      break;
    }
  }
  return run;
}

TrialRun RunTrialIn(WorkerProcess& worker, const TrialRequest& request) {
  TrialRun run = RunOrderIn(worker, request);
  run.exit_code = worker.Wait();
  return run;
}

Report ReportOf(const TrialRequest& request) {
  WorkerProcess worker;
  return RunTrialIn(worker, request).report;
}

TrialRequest RequestFor(const std::string& name, const std::string& inputs) {
  TrialRequest request;
  request.model_path = std::string(MEMPLAN_TEST_MODELS) + "/" + name + ".pt";
  request.inputs = ParseInputSpecs(inputs).value();
  request.batch = 2;
  request.steps = 3;
  request.cap = GiB(1);
  return request;
}

TrialRequest TrainingOf(const std::string& name, const std::string& inputs,
                        Optimizer optimizer) {
  TrialRequest request = RequestFor(name, inputs);
  request.mode = Mode::kTrain;
  request.optimizer = optimizer;
  request.run_as = RunAs::kEager;
  return request;
}

}  // namespace memplan::gpu
