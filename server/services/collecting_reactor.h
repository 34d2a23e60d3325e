// A call that takes all its client sends, then works out its answer on a queue,
// so that no handler computes:
//
//   read ─▶ Take ─▶ read ─▶ Take ─▶ … ─▶ (the client's end) ─▶ (queue) Answer
#ifndef MEMPLAN_SERVER_SERVICES_COLLECTING_REACTOR_H_
#define MEMPLAN_SERVER_SERVICES_COLLECTING_REACTOR_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <utility>

#include "absl/status/status.h"
#include "server/base/work_queue.h"
#include "server/services/baton.h"
#include "server/services/places.h"
#include "server/services/refusals.h"
#include "server/services/rich_status.h"

namespace memplan {

// What all such calls share. Thread-safe; outlives them.
struct CollectingSupport {
  WorkQueue& queue;
  Places& places;
};

// Owns itself: made by a handler, gone once gRPC is done with it. `Request` and
// `Response` are the call's messages.
template <typename Request, typename Response>
class CollectingReactor : public grpc::ServerReadReactor<Request> {
 public:
  // `context` and `response` live until the call has ended.
  CollectingReactor(CollectingSupport& support,
                    grpc::CallbackServerContext* context, Response* response)
      : support_(support), context_(context), response_(response) {}

  // Begins to read, or refuses for want of a place. To be called once, within the
  // handler and when all of the object is made.
  void Begin() {
    auto place = support_.places.Take(ClientOf(*context_));
    if (place.ok()) {
      place_ = *std::move(place);
      ReadOn();
    } else {
      End(place.status());
    }
    // gRPC holds what was started back until the handler returns.
    baton_.Pass();
  }

  void OnReadDone(bool ok) final {
    baton_.Take();
    if (!ok) {
      // Also what a client that went away looks like.
      if (!support_.queue.Post([this] { Conclude(); })) End(ReplayQueueBusy());
      return;
    }
    const absl::Status taken = Guarded([this] { return Take(request_); });
    if (taken.ok()) {
      ReadOn();
    } else {
      End(taken);
    }
  }
  void OnDone() final {
    baton_.Take();
    delete this;
  }

 protected:
  // Takes one message, quickly; may take its content. An error ends the call.
  virtual absl::Status Take(Request& request) = 0;
  // On the queue, once, after the last message: fills the response.
  virtual absl::Status Answer(Response& response) = 0;

 private:
  void Conclude() {
    if (context_->IsCancelled()) {
      End(absl::CancelledError("the caller ended the call"));
    } else {
      End(Guarded([this] { return Answer(*response_); }));
    }
  }
  void ReadOn() {
    baton_.Pass();
    this->StartRead(&request_);
  }
  // Gives its place to another call, then ends.
  void End(const absl::Status& status) {
    place_ = Place();
    baton_.Pass();
    this->Finish(ToGrpcStatus(status));
  }

  CollectingSupport& support_;
  grpc::CallbackServerContext* const context_;
  Response* const response_;
  Place place_;
  Request request_;
  Baton baton_;  // for what this and the call hold
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_COLLECTING_REACTOR_H_
