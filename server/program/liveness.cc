#include "server/program/liveness.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <future>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace memplan {
namespace {

constexpr char kHealthCheck[] = "/grpc.health.v1.Health/Check";

}  // namespace

absl::Status CheckQueueWorks(const std::string& name, WorkQueue& queue,
                             std::chrono::milliseconds patience) {
  const auto done = std::make_shared<std::promise<void>>();
  std::future<void> seen = done->get_future();
  if (!queue.Post([done] { done->set_value(); })) {
    return absl::UnavailableError(
        absl::StrCat("the line of ", name, " is full"));
  }
  if (seen.wait_for(patience) != std::future_status::ready) {
    return absl::UnavailableError(absl::StrCat(
        name, " did not get to new work within ", patience.count(), " ms"));
  }
  return absl::OkStatus();
}

absl::Status CheckServerAnswers(grpc::Server& server,
                                std::chrono::milliseconds patience) {
  grpc::GenericStub stub(server.InProcessChannel({}));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + patience);
  const grpc::Slice nothing("");  // an empty HealthCheckRequest: of the whole
  const grpc::ByteBuffer whole(&nothing, 1);
  grpc::ByteBuffer answer;
  std::promise<grpc::Status> ended;
  stub.UnaryCall(
      &context, kHealthCheck, {}, &whole, &answer,
      [&ended](grpc::Status status) { ended.set_value(std::move(status)); });
  const grpc::Status status = ended.get_future().get();
  if (status.ok()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the gRPC server does not answer a health check: ",
                   status.error_message()));
}

}  // namespace memplan
