#include "cuda/worker/trial/conversation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "cuda/worker/messages/frame.h"
#include "tests/support/status_matchers.h"

namespace memplan::gpu {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::IsOkAndHolds;
using ::memplan::testing::StatusIs;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

class ConversationTest : public ::testing::Test {
 protected:
  ConversationTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    daemon_ = ends[0];
    worker_ = ends[1];
  }
  ~ConversationTest() override {
    if (daemon_ >= 0) close(daemon_);
    close(worker_);
  }

  void Send(const DaemonMessage& message) { SendText(Encode(message)); }
  void SendText(const std::string& text) {
    EXPECT_THAT(WriteFrame(daemon_, text, steady_clock::now() + seconds(5)),
                IsOk());
  }
  WorkerMessage Receive() {
    const auto json = ReadFrame(daemon_, steady_clock::now() + seconds(5));
    return DecodeWorkerMessage(json.value()).value();
  }

  int daemon_;
  int worker_;
};

TEST_F(ConversationTest, SaysHelloAndTakesTheFirstOrder) {
  Conversation conversation(worker_);
  TrialRequest request;
  request.model_path = "/models/a.pt";
  request.batch = 7;
  request.cap = GiB(1);
  Send(request);
  EXPECT_THAT(conversation.Begin("2.11.0"),
              IsOkAndHolds(DaemonMessage(request)));
  const Hello hello = std::get<Hello>(Receive());
  EXPECT_EQ(hello.protocol_version, kProtocolVersion);
  EXPECT_EQ(hello.pid, getpid());
  EXPECT_EQ(hello.torch_version, "2.11.0");
}

TEST_F(ConversationTest, RefusesAFirstOrderThatNamesNoProgram) {
  Conversation conversation(worker_);
  for (const DaemonMessage& message :
       {DaemonMessage(Proceed{}), DaemonMessage(RunCalls{}),
        DaemonMessage(End{})}) {
    Send(message);
    EXPECT_THAT(conversation.Begin("2.11.0"),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  SendText("no message");
  EXPECT_THAT(conversation.Begin("2.11.0"),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(ConversationTest, TakesFurtherOrdersUntilTheDaemonHangsUp) {
  Conversation conversation(worker_);
  Send(Proceed{});  // too late: the run went on without it
  Send(End{});
  EXPECT_THAT(conversation.NextOrder(), IsOkAndHolds(DaemonMessage(End{})));
  close(daemon_);
  daemon_ = -1;
  EXPECT_THAT(conversation.NextOrder(),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(ConversationTest, WaitsForTheDaemonWhenSettled) {
  Conversation conversation(worker_, seconds(60));
  Send(Proceed{});
  conversation.OnSettled({.reserved = MiB(2),
                          .device_free = std::nullopt,
                          .device_total = std::nullopt});
  EXPECT_EQ(std::get<Settled>(Receive()).reserved, MiB(2));
}

TEST_F(ConversationTest, GoesOnByItselfIfTheDaemonSaysNothing) {
  Conversation conversation(worker_, milliseconds(10));
  conversation.OnSettled({.reserved = MiB(2),
                          .device_free = std::nullopt,
                          .device_total = std::nullopt});
  EXPECT_THAT(conversation.Answer(Report{}), IsOk());
}

TEST_F(ConversationTest, SendsProgressAndAnswer) {
  Conversation conversation(worker_);
  conversation.OnProgress({.phase = "step", .steps_done = 3});
  Report report;
  report.message = "all is well";
  EXPECT_THAT(conversation.Answer(report), IsOk());
  EXPECT_EQ(std::get<Progress>(Receive()).steps_done, 3);
  EXPECT_EQ(std::get<Report>(Receive()), report);
}

// How a child process without threads of its own ends when the daemon is gone.
class OrphanTest : public ConversationTest {
 protected:
  int EndAfter(void (*act)(Conversation& conversation)) {
    const pid_t child = fork();
    if (child == 0) {
      close(daemon_);
      Conversation conversation(worker_);
      act(conversation);
      conversation.EndWithTheDaemon();
      for (;;) pause();
    }
    close(daemon_);
    daemon_ = -1;
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    return WEXITSTATUS(status);
  }
};

TEST_F(OrphanTest, EndsAtOnceInTheMiddleOfAnOrder) {
  EXPECT_NE(EndAfter([](Conversation&) {}), 0);
}

TEST_F(OrphanTest, EndsWellBetweenOrders) {
  EXPECT_EQ(EndAfter([](Conversation& conversation) {
              conversation.Answer(Report{}).IgnoreError();
            }),
            0);
}

}  // namespace
}  // namespace memplan::gpu
