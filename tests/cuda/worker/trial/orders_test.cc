// What orders do to the device and the program, one after the other: noted by a
// device and a workshop that only write down what they are asked.
#include "cuda/worker/trial/orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cuda/worker/messages/frame.h"
#include "tests/cuda/worker/trial/memory_file.h"
#include "tests/support/status_matchers.h"

namespace memplan::gpu {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::chrono::seconds kWait(60);

using Notes = std::vector<std::string>;

class NotingDevice : public Device {
 public:
  explicit NotingDevice(Notes& notes) : notes_(notes) {}

  std::optional<Bytes> cap() const override { return cap_; }
  absl::Status SetCap(std::optional<Bytes> cap) override {
    cap_ = cap;
    notes_.push_back(absl::StrCat("cap ", cap->count()));
    return absl::OkStatus();
  }
  absl::StatusOr<Bytes> Renew() override {
    notes_.push_back("renew");
    return held;
  }
  absl::Status ReleaseCache() override { return absl::OkStatus(); }
  Prepared Identity() const override { return {"a card", "", ""}; }
  void BeginSpan() override {}
  Span ReadSpan() override { return {}; }
  absl::StatusOr<Settled> State() override {
    return Settled{.reserved = Bytes(7),
                   .device_free = std::nullopt,
                   .device_total = std::nullopt};
  }

  Bytes held;  // in spite of Renew

 private:
  Notes& notes_;
  std::optional<Bytes> cap_;
};

class NotingExecution : public Execution {
 public:
  NotingExecution(Notes& notes, std::optional<Failure> load,
                  std::optional<Failure> step)
      : notes_(notes), load_(std::move(load)), step_(std::move(step)) {}
  ~NotingExecution() override { notes_.push_back("drop"); }

  std::optional<Failure> Load() override {
    notes_.push_back("load");
    return load_;
  }
  std::optional<Failure> Begin(const TrialRequest& request) override {
    notes_.push_back(absl::StrCat("batch ", request.batch));
    return std::nullopt;
  }
  std::optional<Failure> RunStep(const TrialStep&) override { return step_; }

 private:
  Notes& notes_;
  std::optional<Failure> load_;
  std::optional<Failure> step_;
};

class NotingWorkshop : public Workshop {
 public:
  explicit NotingWorkshop(Notes& notes) : notes_(notes) {}
  std::unique_ptr<Execution> MakeExecution(const TrialRequest&) override {
    return std::make_unique<NotingExecution>(notes_, load, step);
  }
  void Rehearse(const TrialRequest& request) override {
    notes_.push_back(absl::StrCat("rehearse ", request.batch));
  }
  void OpenLibraries() override { notes_.push_back("open libraries"); }
  CallsReport RunEach(const RunCalls& order) override {
    notes_.push_back(absl::StrCat(order.calls.size(), " calls"));
    return {};
  }

  std::optional<Failure> load;
  std::optional<Failure> step;

 private:
  Notes& notes_;
};

TrialRequest RunAt(int64_t batch, int64_t cap, bool stay) {
  TrialRequest request;
  request.model_path = "/m";
  request.batch = batch;
  request.steps = 1;
  request.cap = Bytes(cap);
  request.stay = stay;
  return request;
}

class OrdersTest : public ::testing::Test {
 protected:
  OrdersTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    daemon_ = ends[0];
    worker_ = ends[1];
  }
  ~OrdersTest() override {
    if (daemon_ >= 0) close(daemon_);
    close(worker_);
  }

  // All orders are given at once: the socket keeps them. The worker does not
  // wait for a proceed.
  absl::Status Serve(const std::vector<DaemonMessage>& orders) {
    for (size_t i = 1; i < orders.size(); ++i) {
      EXPECT_THAT(WriteFrame(daemon_, Encode(orders[i]), Deadline()), IsOk());
    }
    Conversation conversation(worker_, std::chrono::milliseconds(0));
    Orders served({.request = RunAt(1, 1, false), .traced_batch = 3}, workshop_,
                  device_, recorder_, conversation);
    return served.Serve(orders.at(0));
  }

  // The types of all messages so far, with progress left out.
  Notes Said() {
    Notes said;
    shutdown(worker_, SHUT_WR);
    for (;;) {
      const auto json = ReadFrame(daemon_, Deadline());
      if (!json.ok()) return said;
      const WorkerMessage message = DecodeWorkerMessage(*json).value();
      if (std::holds_alternative<Prepared>(message)) said.push_back("prepared");
      if (std::holds_alternative<Report>(message)) {
        const Report& report = std::get<Report>(message);
        EXPECT_EQ(report.traced_batch, 3);
        said.push_back(absl::StrCat("report under ", report.cap->count()));
      }
      if (std::holds_alternative<CallsReport>(message)) said.push_back("calls");
    }
  }

  static std::chrono::steady_clock::time_point Deadline() {
    return std::chrono::steady_clock::now() + kWait;
  }

  Notes notes_;
  MemoryFile file_{100};
  std::unique_ptr<TraceWriter> writer_ =
      TraceWriter::Map(file_.descriptor()).value();
  Recorder recorder_{*writer_};
  NotingDevice device_{notes_};
  NotingWorkshop workshop_{notes_};
  int daemon_;
  int worker_;
};

TEST_F(OrdersTest, ARunThatDoesNotStayIsTheLast) {
  EXPECT_THAT(Serve({RunAt(8, 100, false), RunAt(9, 100, false)}), IsOk());
  EXPECT_THAT(notes_,
              ElementsAre("cap 100", "load", "cap 100", "batch 8", "drop"));
  EXPECT_THAT(Said(), ElementsAre("report under 100"));
}

TEST_F(OrdersTest, ASecondRunBeginsAnew) {
  EXPECT_THAT(Serve({RunAt(8, 100, true), RunAt(32, 200, true), End{}}),
              IsOk());
  EXPECT_THAT(notes_, ElementsAre("cap 100", "load", "cap 100", "batch 8",
                                  "drop", "renew", "cap 200", "load", "cap 200",
                                  "batch 32", "drop"));
  EXPECT_THAT(Said(), ElementsAre("report under 100", "report under 200"));
  Notes phases;
  for (const TraceRecord& record : file_.Records()) {
    phases.push_back(file_.NameOf(record));
  }
  EXPECT_THAT(phases, ElementsAre("load", "step0", "end"));  // the second's
}

TEST_F(OrdersTest, GivesUpARehearsalBeforeTheProgramIsLoaded) {
  EXPECT_THAT(Serve({Prepare{.program = RunAt(8, 900, true),
                             .preparation = Preparation::kRehearsedProgram},
                     RunAt(58, 200, false)}),
              IsOk());
  EXPECT_THAT(notes_, ElementsAre("cap 900", "rehearse 8", "renew", "cap 900",
                                  "load", "cap 200", "batch 58", "drop"));
  EXPECT_THAT(Said(), ElementsAre("prepared", "report under 200"));
}

TEST_F(OrdersTest, OpensLibrariesWithoutAProgramForCallsThatFollow) {
  EXPECT_THAT(
      Serve({Prepare{.program = RunAt(8, 900, true),
                     .preparation = Preparation::kLibraries},
             RunCalls{.calls = {DistinctCall{}}, .cap = Bytes(700)}, End{}}),
      IsOk());
  EXPECT_THAT(notes_, ElementsAre("cap 900", "open libraries", "renew",
                                  "cap 700", "1 calls"));
  EXPECT_THAT(Said(), ElementsAre("prepared", "calls"));
}

TEST_F(OrdersTest, GetsReadyAgainAfterARun) {
  EXPECT_THAT(Serve({RunAt(8, 100, true), Prepare{RunAt(1, 900, true)},
                     RunAt(58, 200, false)}),
              IsOk());
  EXPECT_THAT(notes_, ElementsAre("cap 100", "load", "cap 100", "batch 8",
                                  "drop", "renew", "cap 900", "load", "cap 200",
                                  "batch 58", "drop"));
  EXPECT_THAT(Said(),
              ElementsAre("report under 100", "prepared", "report under 200"));
}

TEST_F(OrdersTest, ARunGoesOnFromThePreparedProgramUnderItsOwnCap) {
  EXPECT_THAT(Serve({Prepare{RunAt(1, 900, true)}, RunAt(32, 200, true),
                     RunAt(33, 200, false)}),
              IsOk());
  EXPECT_THAT(notes_, ElementsAre("cap 900", "load", "cap 200", "batch 32",
                                  "drop", "renew", "cap 200", "load", "cap 200",
                                  "batch 33", "drop"));
  EXPECT_THAT(Said(),
              ElementsAre("prepared", "report under 200", "report under 200"));
}

TEST_F(OrdersTest, APreparationThatFailsIsReportedAndMayBeTriedAgain) {
  workshop_.load = BadRequest("mode", "it cannot be trained");
  EXPECT_THAT(Serve({Prepare{RunAt(1, 900, true)}, RunAt(1, 800, true), End{}}),
              IsOk());
  EXPECT_THAT(notes_, ElementsAre("cap 900", "load", "drop", "renew", "cap 800",
                                  "load", "cap 800", "drop"));
  EXPECT_THAT(Said(), ElementsAre("report under 900", "report under 800"));
}

TEST_F(OrdersTest, CallsRunWithoutTheProgram) {
  RunCalls calls;
  calls.calls.resize(2);
  calls.cap = Bytes(50);
  EXPECT_THAT(
      Serve({Prepare{RunAt(1, 900, true)}, calls, RunAt(8, 100, false)}),
      IsOk());
  EXPECT_THAT(notes_, ElementsAre("cap 900", "load", "drop", "renew", "cap 50",
                                  "2 calls", "renew", "cap 100", "load",
                                  "cap 100", "batch 8", "drop"));
  EXPECT_THAT(Said(), ElementsAre("prepared", "calls", "report under 100"));
}

TEST_F(OrdersTest, EndsWithoutAFurtherRunIfMemoryDoesNotComeBack) {
  device_.held = Bytes(512);
  EXPECT_THAT(Serve({RunAt(8, 100, true), RunAt(9, 100, true)}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("holds 512 B that it does not give back")));
  EXPECT_THAT(Said(), ElementsAre("report under 100"));
}

TEST_F(OrdersTest, ALostDeviceEndsAWorkerThatWasToStay) {
  workshop_.step = Failure{.end = EndKind::kModelFailed,
                           .end_class = EndClass::kDeviceAssert,
                           .field = "",
                           .message = "device-side assert triggered"};
  EXPECT_THAT(Serve({RunAt(8, 100, true), RunAt(9, 100, true)}), IsOk());
  EXPECT_THAT(Said(), ElementsAre("report under 100"));
}

TEST_F(OrdersTest, RefusesAnotherProgram) {
  TrialRequest other = RunAt(8, 100, true);
  other.model_path = "/other";
  EXPECT_THAT(
      Serve({RunAt(8, 100, true), other}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/other")));
}

TEST_F(OrdersTest, EndsWellWhenTheDaemonHangsUpBetweenOrders) {
  shutdown(daemon_, SHUT_WR);
  EXPECT_THAT(Serve({RunAt(8, 100, true)}), IsOk());
}

}  // namespace
}  // namespace memplan::gpu
