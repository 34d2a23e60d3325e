// How a handler answers a unary call without blocking: at once, or later from
// whichever thread has the answer. However it goes, the call ends exactly once:
// an exception or an answer that everybody dropped ends it with INTERNAL.
#ifndef MEMPLAN_SERVER_SERVICES_UNARY_ANSWER_H_
#define MEMPLAN_SERVER_SERVICES_UNARY_ANSWER_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>

#include "absl/status/status.h"

namespace memplan {

// The right to answer one call, to be copied into callbacks. Thread-safe. The
// call's request and response live until it is answered.
class UnaryAnswer {
 public:
  explicit UnaryAnswer(grpc::ServerUnaryReactor* reactor);

  // Ends the call with the status that `work` returns; `work` fills the
  // response. Only the first Finish of a call counts, and only it runs its work.
  void Finish(const std::function<absl::Status()>& work) const;
  void Finish(const absl::Status& status) const;

  // Takes a step on the way to the answer. If it returns an error or throws, the
  // call ends with that; if it returns OK, somebody else will end the call.
  void Continue(const std::function<absl::Status()>& step) const;

 private:
  class Call;
  std::shared_ptr<Call> call_;
};

// Answers at once with the status that `work` returns.
grpc::ServerUnaryReactor* AnswerNow(grpc::CallbackServerContext* context,
                                    const std::function<absl::Status()>& work);

// Hands the right to answer to `start`, which must return at once and is the
// first step as in Continue.
grpc::ServerUnaryReactor* AnswerLater(
    grpc::CallbackServerContext* context,
    const std::function<absl::Status(const UnaryAnswer&)>& start);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_UNARY_ANSWER_H_
