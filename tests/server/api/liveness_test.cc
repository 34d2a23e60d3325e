#include "server/program/liveness.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <gtest/gtest.h>

#include <chrono>
#include <latch>
#include <memory>
#include <string>

#include "server/services/server_service.h"
#include "tests/support/status_matchers.h"

namespace memplan::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr seconds kLong(30);
constexpr milliseconds kShort(50);

// A queue whose only thread waits until this goes, with room for one more.
class BusyQueue {
 public:
  BusyQueue() : queue_(1, 1) {
    std::latch taken(1);
    queue_.Post([this, &taken] {
      taken.count_down();
      free_.wait();
    });
    taken.wait();
  }
  ~BusyQueue() { free_.count_down(); }

  WorkQueue& queue() { return queue_; }

 private:
  std::latch free_{1};
  WorkQueue queue_;
};

TEST(CheckQueueWorksTest, IsContentWithAQueueThatWorks) {
  WorkQueue queue(1, 1);
  EXPECT_THAT(CheckQueueWorks("the queue", queue, kLong), IsOk());
}

TEST(CheckQueueWorksTest, FailsIfNobodyGetsToTheWork) {
  BusyQueue busy;
  EXPECT_THAT(CheckQueueWorks("the queue", busy.queue(), kShort),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("the queue did not get to new work")));
}

TEST(CheckQueueWorksTest, FailsIfTheLineIsFull) {
  BusyQueue busy;
  ASSERT_TRUE(busy.queue().Post([] {}));
  EXPECT_THAT(CheckQueueWorks("the queue", busy.queue(), kLong),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("is full")));
}

std::unique_ptr<grpc::Server> MakeServer(grpc::Service& service) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  return builder.BuildAndStart();
}

TEST(CheckServerAnswersTest, IsContentWithAnyAnswer) {
  ServerService service([] { return ServerStatus(); });
  const auto server = MakeServer(service);
  ASSERT_NE(server, nullptr);
  EXPECT_THAT(CheckServerAnswers(*server, kLong), IsOk());
  server->GetHealthCheckService()->SetServingStatus(false);
  EXPECT_THAT(CheckServerAnswers(*server, kLong), IsOk());
  server->Shutdown();
}

TEST(CheckServerAnswersTest, FailsOnceTheServerIsDown) {
  ServerService service([] { return ServerStatus(); });
  const auto server = MakeServer(service);
  ASSERT_NE(server, nullptr);
  server->Shutdown();
  EXPECT_THAT(
      CheckServerAnswers(*server, kLong),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("does not answer")));
}

}  // namespace
}  // namespace memplan::testing
