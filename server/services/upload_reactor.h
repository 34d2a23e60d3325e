// One upload: reads the client's messages one by one and hands each to a work
// queue, since the store waits for the disk.
//
//   read ─▶ (queue) check, hash, write ─▶ read ─▶ … ─▶ (queue) commit ─▶ answer
//
// After the header of an upload that goes on with an older one, what is kept of
// that is hashed, a stretch on the queue at a time.
#ifndef MEMPLAN_SERVER_SERVICES_UPLOAD_REACTOR_H_
#define MEMPLAN_SERVER_SERVICES_UPLOAD_REACTOR_H_

#include <grpcpp/support/server_callback.h>

#include <memory>

#include "absl/status/status.h"
#include "memplan/v1/model_service.pb.h"
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
  UploadCounts counts{};
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
  absl::Status Take();
  absl::Status TakeHeader(const v1::UploadHeader& header);
  absl::Status TakeChunk(const v1::UploadChunk& chunk);
  absl::Status Commit();
  absl::Status Truncated() const;
  void ReadOn();
  // Gives its place and the part to another upload, then ends the call.
  void End(const absl::Status& status);

  UploadSupport& support_;
  v1::UploadModelResponse* const response_;
  v1::UploadModelRequest request_;
  std::unique_ptr<ModelUpload> upload_;  // set once the header has come
  Place place_;
  UploadOutcome outcome_ = UploadOutcome::kRefused;
  Baton baton_;  // for all above
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_UPLOAD_REACTOR_H_
