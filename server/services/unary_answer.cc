#include "server/services/unary_answer.h"

#include <atomic>

#include "server/services/rich_status.h"

namespace memplan {

class UnaryAnswer::Call {
 public:
  explicit Call(grpc::ServerUnaryReactor* reactor) : reactor_(reactor) {}
  ~Call() {
    Finish([] { return absl::InternalError("the daemon dropped this call"); });
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void Finish(const std::function<absl::Status()>& work) {
    if (answered_.exchange(true)) return;
    reactor_->Finish(ToGrpcStatus(Guarded(work)));
  }

 private:
  grpc::ServerUnaryReactor* const reactor_;  // gRPC's; gone once answered
  std::atomic<bool> answered_ = false;
};

UnaryAnswer::UnaryAnswer(grpc::ServerUnaryReactor* reactor)
    : call_(std::make_shared<Call>(reactor)) {}

void UnaryAnswer::Finish(const std::function<absl::Status()>& work) const {
  call_->Finish(work);
}

void UnaryAnswer::Finish(const absl::Status& status) const {
  call_->Finish([&status] { return status; });
}

void UnaryAnswer::Continue(const std::function<absl::Status()>& step) const {
  const absl::Status taken = Guarded(step);
  if (!taken.ok()) Finish(taken);
}

grpc::ServerUnaryReactor* AnswerNow(grpc::CallbackServerContext* context,
                                    const std::function<absl::Status()>& work) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(Guarded(work)));
  return reactor;
}

grpc::ServerUnaryReactor* AnswerLater(
    grpc::CallbackServerContext* context,
    const std::function<absl::Status(const UnaryAnswer&)>& start) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const UnaryAnswer answer(reactor);
  answer.Continue([&] { return start(answer); });
  return reactor;
}

}  // namespace memplan
