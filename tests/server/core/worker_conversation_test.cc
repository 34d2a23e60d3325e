#include "server/workers/worker_conversation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <thread>

#include "cuda/worker/messages/frame.h"
#include "server/base/descriptor.h"
#include "server/jobs/trial_runner.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using std::chrono::steady_clock;

const gpu::Hello kHello{
    .protocol_version = gpu::kProtocolVersion, .pid = 7, .torch_version = "2"};
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The worker's messages lie ready in the socket before the daemon talks: they
// are small.
class WorkerConversationTest : public ::testing::Test {
 protected:
  WorkerConversationTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()),
              0);
    daemon_ = Descriptor(ends[0]);
    worker_ = Descriptor(ends[1]);
    order_.request.steps = 2;
    order_.request.batch = 8;
    terms_.hello_deadline = steady_clock::now() + std::chrono::seconds(30);
    order_.deadline = terms_.hello_deadline;
    order_.on_progress = [this](const gpu::Progress& progress) {
      phases_.push_back(progress.phase);
    };
    order_.read_context =
        [](const gpu::Settled& settled) -> std::optional<ContextReading> {
      return ContextReading{settled.reserved + Bytes(1), "nvml_process"};
    };
  }

  void Say(const gpu::WorkerMessage& message) { SayText(gpu::Encode(message)); }
  void SayText(const std::string& json) {
    EXPECT_THAT(gpu::WriteFrame(worker_.get(), json, order_.deadline), IsOk());
  }
  void SayReport(gpu::EndKind end, size_t steps) {
    gpu::Report report;
    report.end = end;
    report.steps.resize(steps);
    Say(report);
  }
  void SayBytes(const std::string& bytes) {
    EXPECT_EQ(send(worker_.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }
  // What the daemon said next.
  gpu::DaemonMessage Heard() {
    const auto frame = gpu::ReadFrame(worker_.get(), order_.deadline);
    EXPECT_THAT(frame, IsOk());
    const auto message = gpu::DecodeDaemonMessage(*frame);
    EXPECT_THAT(message, IsOk());
    return *message;
  }
  Talk TalkItOut() {
    return WorkerConversation(daemon_.get(), terms_).Run(order_);
  }
  void ExpectNonsense(const std::string& words) {
    const Talk talk = TalkItOut();
    EXPECT_EQ(talk.end, TalkEnd::kNonsense);
    EXPECT_THAT(talk.words, HasSubstr(words));
    EXPECT_FALSE(talk.report);
  }

  Descriptor daemon_;
  Descriptor worker_;
  TalkTerms terms_;
  RunTalk order_;
  std::vector<std::string> phases_;
};

TEST_F(WorkerConversationTest, GoesFromHelloToReport) {
  Say(kHello);
  Say(gpu::Progress{"load", 0});
  Say(gpu::Progress{"step", 1});
  Say(gpu::Settled{MiB(2), {}, {}});
  SayReport(gpu::EndKind::kRan, 2);
  const Talk talk = TalkItOut();
  EXPECT_EQ(talk.end, TalkEnd::kAnswered);
  EXPECT_TRUE(talk.said_hello);
  ASSERT_TRUE(talk.report);
  EXPECT_EQ(talk.report->steps.size(), 2u);
  ASSERT_TRUE(talk.context);
  EXPECT_EQ(talk.context->context, MiB(2) + Bytes(1));
  EXPECT_THAT(phases_, ElementsAre("load", "step", "report"));
  EXPECT_EQ(std::get<gpu::TrialRequest>(Heard()).batch, 8);
  EXPECT_TRUE(std::holds_alternative<gpu::Proceed>(Heard()));
}

TEST_F(WorkerConversationTest, HearsOfTheSandboxFirst) {
  order_.request.sandbox = gpu::SandboxOrder{};
  Say(kHello);
  Say(gpu::Sandboxed{{{"landlock", gpu::LayerState::kMissing, "none"}}});
  SayReport(gpu::EndKind::kOutOfMemory, 1);
  const Talk talk = TalkItOut();
  EXPECT_EQ(talk.end, TalkEnd::kAnswered);
  EXPECT_EQ(talk.sandbox.size(), 1u);
}

TEST_F(WorkerConversationTest, TakesNothingElseBeforeTheSandbox) {
  order_.request.sandbox = gpu::SandboxOrder{};
  Say(kHello);
  Say(gpu::Progress{"load", 0});
  ExpectNonsense("did not tell of its sandbox first");
}

TEST_F(WorkerConversationTest, EndsWithoutALayerThatIsRequired) {
  order_.request.sandbox = {.required = true, .scratch_path = ""};
  Say(kHello);
  Say(gpu::Sandboxed{
      {{"no_new_privileges", gpu::LayerState::kInForce, ""},
       {"landlock", gpu::LayerState::kMissing, "the kernel has none"},
       {"seccomp", gpu::LayerState::kInForce, ""}}});
  const Talk talk = TalkItOut();
  EXPECT_EQ(talk.end, TalkEnd::kNotSandboxed);
  EXPECT_EQ(talk.words, "landlock: the kernel has none");
}

TEST_F(WorkerConversationTest, TakesAFailureWithoutSettling) {
  Say(kHello);
  SayReport(gpu::EndKind::kOutOfMemory, 1);
  const Talk talk = TalkItOut();
  EXPECT_EQ(talk.end, TalkEnd::kAnswered);
  EXPECT_FALSE(talk.context);
}

TEST_F(WorkerConversationTest, TellsThatTheWorkerClosed) {
  Say(kHello);
  Say(gpu::Progress{"load", 0});
  shutdown(worker_.get(), SHUT_WR);
  const Talk talk = TalkItOut();
  EXPECT_EQ(talk.end, TalkEnd::kClosed);
  EXPECT_EQ(talk.phase, "load");
}

TEST_F(WorkerConversationTest, TellsThatTheWorkerClosedWithinAFrame) {
  Say(kHello);
  SayBytes(std::string("\x10\0\0\0{\"ty", 8));
  shutdown(worker_.get(), SHUT_WR);
  EXPECT_EQ(TalkItOut().end, TalkEnd::kClosed);
}

TEST_F(WorkerConversationTest, WaitsForTheHelloNoLongerThanItMay) {
  terms_.hello_deadline = steady_clock::now();
  const Talk talk = TalkItOut();
  EXPECT_EQ(talk.end, TalkEnd::kTimedOut);
  EXPECT_FALSE(talk.said_hello);
  EXPECT_EQ(talk.phase, "start");
}

TEST_F(WorkerConversationTest, WaitsForTheRestNoLongerThanItMay) {
  Say(kHello);
  order_.deadline = steady_clock::now() + std::chrono::milliseconds(20);
  const Talk talk = TalkItOut();
  EXPECT_EQ(talk.end, TalkEnd::kTimedOut);
}

TEST_F(WorkerConversationTest, EndsWhenCancelled) {
  CancelSignal cancel;
  cancel.Cancel();
  terms_.wake = cancel.descriptor();
  EXPECT_EQ(TalkItOut().end, TalkEnd::kCancelled);
}

TEST_F(WorkerConversationTest, RefusesAnotherVersion) {
  Say(gpu::Hello{.protocol_version = 9, .pid = 1, .torch_version = ""});
  const Talk talk = TalkItOut();
  EXPECT_EQ(talk.end, TalkEnd::kOtherVersion);
  EXPECT_THAT(talk.words, HasSubstr("version 9"));
}

TEST_F(WorkerConversationTest, WantsTheHelloFirstAndOnce) {
  Say(gpu::Progress{"load", 0});
  ExpectNonsense("no hello");
}

TEST_F(WorkerConversationTest, WantsOneHello) {
  Say(kHello);
  Say(kHello);
  ExpectNonsense("a second time");
}

TEST_F(WorkerConversationTest, WantsOneSettling) {
  Say(kHello);
  Say(gpu::Settled{});
  Say(gpu::Settled{});
  ExpectNonsense("settled twice");
}

TEST_F(WorkerConversationTest, WantsAllStepsOfATrialThatRan) {
  Say(kHello);
  SayReport(gpu::EndKind::kRan, 1);
  ExpectNonsense("1 steps of 2");
}

TEST_F(WorkerConversationTest, WantsNoMoreStepsThanOrdered) {
  Say(kHello);
  SayReport(gpu::EndKind::kOutOfMemory, 3);
  ExpectNonsense("3 steps of 2");
}

// Two steps, one of batch 3, an evaluation, and one more.
TEST_F(WorkerConversationTest, TakesTheStepsThatTheOptionsAdd) {
  order_.request.options.also_batches = {3};
  order_.request.options.evaluation_batch = 64;
  Say(kHello);
  SayReport(gpu::EndKind::kRan, 5);
  EXPECT_EQ(TalkItOut().end, TalkEnd::kAnswered);
}

TEST_F(WorkerConversationTest, WantsTheStepsThatTheOptionsAdd) {
  order_.request.options.also_batches = {3};
  Say(kHello);
  SayReport(gpu::EndKind::kRan, 2);
  ExpectNonsense("2 steps of 4");
}

TEST_F(WorkerConversationTest, WantsJson) {
  Say(kHello);
  SayText("not json");
  const Talk talk = TalkItOut();
  EXPECT_EQ(talk.end, TalkEnd::kNonsense);
}

TEST_F(WorkerConversationTest, WantsShortFrames) {
  Say(kHello);
  SayBytes("\xff\xff\xff\x7f");
  ExpectNonsense("announced");
}

TEST_F(WorkerConversationTest, WantsAnEnd) {
  // More than the socket holds: the worker talks on another thread.
  std::thread talkative([this] {
    Say(kHello);
    for (int i = 0; i < 1000; ++i) Say(gpu::Progress{"load", 0});
  });
  ExpectNonsense("more than 1000 messages");
  talkative.join();
}

const DistinctCall kConvolution{.operator_name = "aten::conv2d",
                                .overload = "",
                                .is_convolution = true,
                                .has_signature = true,
                                .arguments = {},
                                .calls = {}};
const gpu::Prepared kPrepared{"NVIDIA H200", "580.1", "9.10"};

TEST_F(WorkerConversationTest, TakesOrderAfterOrder) {
  order_.request.sandbox = gpu::SandboxOrder{};
  Say(kHello);
  Say(gpu::Sandboxed{});
  Say(kPrepared);
  Say(gpu::Settled{MiB(2), {}, {}});
  SayReport(gpu::EndKind::kRan, 2);
  Say(gpu::CallsReport{{{{}, "no such operator"}}});
  Say(gpu::Settled{MiB(3), {}, {}});
  SayReport(gpu::EndKind::kRan, 2);
  WorkerConversation conversation(daemon_.get(), terms_);
  EXPECT_EQ(conversation.Prepare({order_.request}, order_.deadline).prepared,
            kPrepared);
  EXPECT_EQ(conversation.Run(order_).context->context, MiB(2) + Bytes(1));
  const Talk calls = conversation.RunCalls(
      {.calls = {kConvolution}, .cap = MiB(1)}, order_.deadline);
  ASSERT_EQ(calls.end, TalkEnd::kAnswered);
  EXPECT_EQ(calls.calls->results[0].fault, "no such operator");
  EXPECT_FALSE(calls.report);
  EXPECT_EQ(conversation.Run(order_).context->context, MiB(3) + Bytes(1));
  EXPECT_TRUE(conversation.SayEnd(order_.deadline));

  EXPECT_EQ(std::get<gpu::Prepare>(Heard()).program.batch, 8);
  EXPECT_TRUE(std::holds_alternative<gpu::TrialRequest>(Heard()));
  EXPECT_TRUE(std::holds_alternative<gpu::Proceed>(Heard()));
  EXPECT_EQ(std::get<gpu::RunCalls>(Heard()).cap, MiB(1));
  EXPECT_TRUE(std::holds_alternative<gpu::TrialRequest>(Heard()));
  EXPECT_TRUE(std::holds_alternative<gpu::Proceed>(Heard()));
  EXPECT_TRUE(std::holds_alternative<gpu::End>(Heard()));
}

TEST_F(WorkerConversationTest, TellsThatTheModelDidNotLoad) {
  Say(kHello);
  SayReport(gpu::EndKind::kOutOfMemory, 0);
  WorkerConversation conversation(daemon_.get(), terms_);
  const Talk talk = conversation.Prepare({order_.request}, order_.deadline);
  EXPECT_EQ(talk.end, TalkEnd::kAnswered);
  EXPECT_FALSE(talk.prepared);
  EXPECT_EQ(talk.report->end, gpu::EndKind::kOutOfMemory);
}

TEST_F(WorkerConversationTest, WantsAsManyResultsAsCalls) {
  Say(kHello);
  Say(kPrepared);
  Say(gpu::CallsReport{{{{}, "one"}, {{}, "two"}}});
  WorkerConversation conversation(daemon_.get(), terms_);
  (void)conversation.Prepare({order_.request}, order_.deadline);
  const Talk talk = conversation.RunCalls({}, order_.deadline);
  EXPECT_EQ(talk.end, TalkEnd::kNonsense);
  EXPECT_THAT(talk.words, HasSubstr("2 operators of 0"));
}

TEST_F(WorkerConversationTest, GivesNoOrderOnceItIsBroken) {
  Say(kHello);
  Say(kHello);
  WorkerConversation conversation(daemon_.get(), terms_);
  EXPECT_EQ(conversation.Prepare({order_.request}, order_.deadline).end,
            TalkEnd::kNonsense);
  EXPECT_EQ(conversation.Run(order_).end, TalkEnd::kNonsense);
  EXPECT_FALSE(conversation.SayEnd(order_.deadline));
}

}  // namespace
}  // namespace memplan
