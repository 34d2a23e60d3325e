// The scripted worker keeps to the protocol when told nothing else, and breaks
// it as told. Driven here as the daemon drives it: a socket on descriptor 3, a
// memory file on 4.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "cuda/worker/messages/frame.h"
#include "cuda/worker/messages/messages.h"
#include "cuda/worker/messages/trace_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/base/bytes.h"
#include "planner/base/format.h"
#include "tests/support/scripted_model.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace memplan::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::chrono::steady_clock::time_point Later() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(30);
}

std::string ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// One scripted worker, started in the constructor, gone with the object.
class Worker {
 public:
  explicit Worker(const std::string& program = MEMPLAN_SCRIPTED_WORKER) {
    std::array<int, 2> pair{};
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data());
    channel_ = pair[0];
    trace_ = memfd_create("trace", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_EQ(ftruncate(trace_, 11 << 20), 0);
    fcntl(trace_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    // By way of high numbers, so that neither is overwritten by the other.
    posix_spawn_file_actions_adddup2(&actions, pair[1], 100);
    posix_spawn_file_actions_adddup2(&actions, trace_, 101);
    posix_spawn_file_actions_adddup2(&actions, 100, gpu::kChannelDescriptor);
    posix_spawn_file_actions_adddup2(&actions, 101, gpu::kTraceDescriptor);
    posix_spawn_file_actions_addclose(&actions, 100);
    posix_spawn_file_actions_addclose(&actions, 101);
    std::string name = program;
    std::array<char*, 2> arguments = {name.data(), nullptr};
    EXPECT_EQ(posix_spawn(&pid_, program.c_str(), &actions, nullptr,
                          arguments.data(), environ),
              0);
    posix_spawn_file_actions_destroy(&actions);
    close(pair[1]);
  }
  ~Worker() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      Wait();
    }
    CloseChannel();
    close(trace_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  absl::StatusOr<gpu::WorkerMessage> Receive() {
    const auto json = gpu::ReadFrame(channel_, Later());
    if (!json.ok()) return json.status();
    return gpu::DecodeWorkerMessage(*json);
  }
  void Send(const gpu::DaemonMessage& message) {
    EXPECT_THAT(gpu::WriteFrame(channel_, gpu::Encode(message), Later()),
                IsOk());
  }
  void CloseChannel() {
    if (channel_ >= 0) close(channel_);
    channel_ = -1;
  }
  // Waits for its end; returns the status as waitpid gives it.
  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }
  gpu::TraceHeader TraceHeader() const {
    gpu::TraceHeader header = {};
    EXPECT_EQ(pread(trace_, &header, sizeof(header), 0),
              static_cast<ssize_t>(sizeof(header)));
    return header;
  }
  pid_t pid() const { return pid_; }

 private:
  int channel_ = -1;
  int trace_ = -1;
  pid_t pid_ = -1;
};

class ScriptedWorkerTest : public ::testing::Test {
 protected:
  // A model with this script.
  std::string Model(const std::string& script) {
    const std::string path = folder_.Path("model.pt");
    std::ofstream(path, std::ios::binary) << ScriptedModel(script);
    return path;
  }
  gpu::TrialRequest Request(int64_t batch, const std::string& script) {
    gpu::TrialRequest request;
    request.model_path = Model(script);
    request.batch = batch;
    request.steps = 2;
    request.cap = MiB(64);
    return request;
  }
  // Goes through the protocol; the report, or what came in its place.
  static absl::StatusOr<gpu::Report> RunTrial(
      Worker& worker, const gpu::TrialRequest& request) {
    auto message = worker.Receive();
    if (!message.ok()) return message.status();
    EXPECT_EQ(std::get<gpu::Hello>(*message).pid, worker.pid());
    worker.Send(request);
    while (true) {
      message = worker.Receive();
      if (!message.ok()) return message.status();
      if (const auto* report = std::get_if<gpu::Report>(&*message)) {
        return *report;
      }
      if (std::holds_alternative<gpu::Settled>(*message)) {
        worker.Send(gpu::Proceed{});
      }
    }
  }

  TempDir folder_;
};

TEST_F(ScriptedWorkerTest, RunsReportsAndExits) {
  Worker worker;
  // 1 MiB and 3 bytes a sample: 1,048,606 bytes, in blocks of 512 1,049,088.
  const auto report =
      RunTrial(worker, Request(10, R"({"bytes_per_sample": 3})"));
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->end, gpu::EndKind::kRan);
  ASSERT_THAT(report->steps, SizeIs(2));
  EXPECT_EQ(report->steps[1].peaks.requested, Bytes(1'048'606));
  EXPECT_EQ(report->steps[1].peaks.allocated, Bytes(1'049'088));
  EXPECT_EQ(report->cap, MiB(64));
  EXPECT_EQ(worker.Wait(), 0);
  // Phase, operator, block and its end, of the load and of two steps; the names
  // of three phases and two operators.
  EXPECT_EQ(worker.TraceHeader().record_count, 12U);
  EXPECT_EQ(worker.TraceHeader().name_count, 5U);
}

TEST_F(ScriptedWorkerTest, RunsOutOfMemoryAboveTheCap) {
  Worker fitting;
  const auto fits = RunTrial(fitting, Request(63, "{}"));  // 1 + 63 MiB
  ASSERT_THAT(fits, IsOk());
  EXPECT_EQ(fits->end, gpu::EndKind::kRan);
  Worker failing;
  const auto fails = RunTrial(failing, Request(64, "{}"));
  ASSERT_THAT(fails, IsOk());
  EXPECT_EQ(fails->end, gpu::EndKind::kOutOfMemory);
  EXPECT_FALSE(fails->failed_while_loading);
}

TEST_F(ScriptedWorkerTest, RunsOutOfMemoryWhileLoadingAHugeModel) {
  Worker worker;
  const auto report =
      RunTrial(worker, Request(1, R"({"base_bytes": 67108865})"));
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->end, gpu::EndKind::kOutOfMemory);
  EXPECT_TRUE(report->failed_while_loading);
}

TEST_F(ScriptedWorkerTest, RunsOutOfMemoryAsListed) {
  const std::string script = R"({"limit_batch": 20, "oom_batches": [7]})";
  for (const auto& [batch, end] : {std::pair{6, gpu::EndKind::kRan},
                                   {7, gpu::EndKind::kOutOfMemory},
                                   {20, gpu::EndKind::kRan},
                                   {21, gpu::EndKind::kOutOfMemory}}) {
    Worker worker;
    const auto report = RunTrial(worker, Request(batch, script));
    ASSERT_THAT(report, IsOk());
    EXPECT_EQ(report->end, end) << batch;
  }
}

TEST_F(ScriptedWorkerTest, FailsAsTold) {
  const std::string script =
      R"({"traced_batch": 2, "on_batch": {"1": "model fails", )"
      R"("2": "refuses inputs", "*": "shape refused"}})";
  for (const auto& [batch, end] : {std::pair{1, gpu::EndKind::kModelFailed},
                                   {2, gpu::EndKind::kBadRequest},
                                   {3, gpu::EndKind::kShapeRefused}}) {
    Worker worker;
    const auto report = RunTrial(worker, Request(batch, script));
    ASSERT_THAT(report, IsOk());
    EXPECT_EQ(report->end, end) << batch;
    EXPECT_EQ(report->traced_batch, 2);
  }
}

struct Breakage {
  std::string name;
  std::string situation;
  absl::StatusCode seen;  // by the reader in place of a report
};
class BreakageTest : public ScriptedWorkerTest,
                     public ::testing::WithParamInterface<Breakage> {};

TEST_P(BreakageTest, IsSeen) {
  Worker worker;
  const auto report = RunTrial(
      worker,
      Request(16, R"({"on_batch": {"16": ")" + GetParam().situation + "\"}}"));
  EXPECT_THAT(report, StatusIs(GetParam().seen));
}

INSTANTIATE_TEST_SUITE_P(
    Situations, BreakageTest,
    ::testing::ValuesIn<Breakage>({
        {"DiesBySignal", "dies by signal 9", absl::StatusCode::kUnavailable},
        {"Exits", "exits", absl::StatusCode::kUnavailable},
        {"HalfAFrame", "half a frame", absl::StatusCode::kDataLoss},
        {"FrameTooLong", "frame too long", absl::StatusCode::kDataLoss},
        {"Nonsense", "nonsense", absl::StatusCode::kInvalidArgument},
    }),
    [](const auto& test) { return test.param.name; });

TEST_F(ScriptedWorkerTest, DiesByTheSignalNamed) {
  Worker worker;
  const auto report = RunTrial(
      worker, Request(16, R"({"on_batch": {"*": "dies by signal 11"}})"));
  EXPECT_THAT(report, StatusIs(absl::StatusCode::kUnavailable));
  const int status = worker.Wait();
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGSEGV);
}

TEST_F(ScriptedWorkerTest, MisbehavesOnlyOnceIfToldSo) {
  const std::string script = R"({"on_batch": {"*": "exits"}, "once": ")" +
                             folder_.Path("marker") + "\"}";
  Worker first;
  EXPECT_THAT(RunTrial(first, Request(5, script)),
              StatusIs(absl::StatusCode::kUnavailable));
  Worker second;
  EXPECT_THAT(RunTrial(second, Request(5, script)), IsOk());
}

TEST_F(ScriptedWorkerTest, LogsEachStart) {
  const std::string log = folder_.Path("log");
  Worker worker;
  const std::string pid = std::to_string(worker.pid());
  ASSERT_THAT(RunTrial(worker, Request(5, R"({"log": ")" + log + "\"}")),
              IsOk());
  EXPECT_EQ(ContentOf(log), pid + " 5\n");
}

TEST_F(ScriptedWorkerTest, WaitsAtTheGateUntilItIsOpened) {
  const std::string gate = folder_.Path("gate");
  ASSERT_EQ(mkfifo(gate.c_str(), 0600), 0);
  Worker worker;
  ASSERT_THAT(worker.Receive(), IsOk());  // hello
  worker.Send(Request(
      5,
      R"({"on_batch": {"*": "waits at the gate"}, "gate": ")" + gate + "\"}"));
  ASSERT_THAT(worker.Receive(), IsOk());  // load
  ASSERT_THAT(worker.Receive(), IsOk());  // step
  const int opened = open(gate.c_str(), O_WRONLY | O_CLOEXEC);
  EXPECT_THAT(worker.Receive(), IsOk());  // the step is done
  close(opened);
}

TEST_F(ScriptedWorkerTest, EndsWithTheDaemonThoughItHangs) {
  Worker worker;
  ASSERT_THAT(worker.Receive(), IsOk());
  worker.Send(Request(5, R"({"on_batch": {"*": "hangs"}})"));
  ASSERT_THAT(worker.Receive(), IsOk());
  worker.CloseChannel();
  EXPECT_EQ(worker.Wait(), 0);
}

TEST_F(ScriptedWorkerTest, WritesAWildTraceHeader) {
  Worker worker;
  ASSERT_THAT(
      RunTrial(worker,
               Request(5, R"({"on_batch": {"*": "wild trace header"}})")),
      IsOk());
  EXPECT_EQ(worker.TraceHeader().name_bytes, UINT64_MAX);
}

TEST_F(ScriptedWorkerTest, OverflowsItsTrace) {
  Worker worker;
  ASSERT_THAT(
      RunTrial(worker, Request(5, R"({"on_batch": {"*": "overflows trace"}})")),
      IsOk());
  // (4 MiB − 1 MiB − 4 KiB) / 32
  EXPECT_EQ(worker.TraceHeader().record_count, 98'176U);
  EXPECT_EQ(worker.TraceHeader().records_lost, 7U);
}

TEST_F(ScriptedWorkerTest, CannotResizeASealedTrace) {
  Worker worker;
  EXPECT_THAT(
      RunTrial(worker, Request(5, R"({"on_batch": {"*": "resizes trace"}})")),
      IsOk());
}

TEST_F(ScriptedWorkerTest, MisbehavesBeforeItKnowsTheModelByItsName) {
  const auto as = [&](const std::string& name) {
    const std::string path = folder_.Path(name);
    EXPECT_EQ(symlink(MEMPLAN_SCRIPTED_WORKER, path.c_str()), 0);
    return path;
  };
  Worker dead(as("dies-at-once"));
  EXPECT_THAT(dead.Receive(), StatusIs(absl::StatusCode::kUnavailable));
  Worker newer(as("speaks-another-version"));
  const auto hello = newer.Receive();
  ASSERT_THAT(hello, IsOk());
  EXPECT_EQ(std::get<gpu::Hello>(*hello).protocol_version,
            gpu::kProtocolVersion + 1);
}

TEST(ScriptedModelTest, IsAZipArchiveWithTheEntriesOfATorchScriptFile) {
  const std::string model = ScriptedModel("{}");
  EXPECT_EQ(model.substr(0, 4), "PK\x03\x04");
  EXPECT_EQ(model.substr(model.size() - 22, 4), "PK\x05\x06");
  for (const char* entry : {"/data.pkl", "/constants.pkl", "/version"}) {
    EXPECT_THAT(model, HasSubstr(entry));
  }
  EXPECT_THAT(model, HasSubstr("\nMEMPLAN-SCRIPT {}\n"));
}

TEST(ScriptedModelTest, IsAnotherFileWithOtherBallast) {
  EXPECT_NE(ScriptedModel("{}", 1), ScriptedModel("{}", 2));
  EXPECT_EQ(ScriptedModel("{}", 5000).size(),
            ScriptedModel("{}").size() + 5000);
}

}  // namespace
}  // namespace memplan::testing
