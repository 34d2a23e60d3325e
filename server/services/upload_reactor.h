// One upload: reads the client's messages one by one and hands each to a work
// queue, since the store waits for the disk.
//
//   read ─▶ (queue) check, hash, write ─▶ read ─▶ … ─▶ (queue) commit ─▶ answer
//
// After the header of an upload that goes on with an older one, what is kept of
// that is hashed, a stretch on the queue at a time. A client that sends no whole
// message for too long loses its place, not its part.
#ifndef MEMPLAN_SERVER_SERVICES_UPLOAD_REACTOR_H_
#define MEMPLAN_SERVER_SERVICES_UPLOAD_REACTOR_H_

#include <grpcpp/support/server_callback.h>

#include <chrono>
#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "memplan/v1/model_service.pb.h"
#include "server/base/timers.h"
#include "server/base/work_queue.h"
#include "server/services/baton.h"
#include "server/services/places.h"
#include "server/store/model_store.h"
#include "server/store/upload_counts.h"

namespace memplan {

// What all uploads share. Thread-safe; outlives them.
struct UploadSupport {
  ModelStore& models;
  WorkQueue& disk;
  Places& places;
  std::chrono::milliseconds idle_timeout;  // between an upload's messages
  UploadCounts counts{};
  Timers timers{};
};

// Owns itself: made by a handler, gone once gRPC is done with it.
class UploadReactor final
    : public grpc::ServerReadReactor<v1::UploadModelRequest> {
 public:
  // Begins to read, or refuses for want of a place. `context` and `response` live
  // until the call has ended.
  UploadReactor(UploadSupport& support,
                const grpc::CallbackServerContext& context,
                v1::UploadModelResponse* response);

  void OnReadDone(bool ok) override;
  void OnDone() override;

 private:
  // Runs `step` on the queue, or ends the call if that takes no more.
  void Post(void (UploadReactor::*step)());
  // On the queue, one at a time: takes what was read, then reads on or ends.
  void TakeMessage();
  void CatchUp();
  void BreakOff();
  void GiveUp();
  absl::Status Take();
  absl::Status TakeHeader(const v1::UploadHeader& header);
  absl::Status TakeChunk(const v1::UploadChunk& chunk);
  absl::Status Commit();
  absl::Status Truncated() const;
  absl::Status Silent() const;
  void ReadOn();
  // On the timers' thread: gives up if the client has been silent for too long,
  // else looks again when it would have been.
  void LookForSilence();
  // With mutex_ held.
  void LookAgainAt(Timers::Time time);
  // Gives its place and the part to another upload, then ends the call.
  void End(const absl::Status& status);

  UploadSupport& support_;
  v1::UploadModelResponse* const response_;
  v1::UploadModelRequest request_;
  std::unique_ptr<ModelUpload> upload_;  // set once the header has come
  Place place_;
  UploadOutcome outcome_ = UploadOutcome::kRefused;
  Baton baton_;  // for all above

  // Whoever takes back a read in progress goes on with the call: the read's end
  // or the timer.
  std::mutex mutex_;
  bool reading_ = false;        // under mutex_
  Timers::Time reading_since_;  // under mutex_
  bool done_ = false;           // under mutex_: no timer any more
  Timers::Id timer_;            // under mutex_; the last that was set
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_UPLOAD_REACTOR_H_
