// One upload: reads the client's messages one by one and hands each to a work
// queue, since the store waits for the disk.
//
//   read ─▶ (queue) check, hash, write ─▶ read ─▶ … ─▶ (queue) commit ─▶ answer
#ifndef MEMPLAN_SERVER_SERVICES_UPLOAD_REACTOR_H_
#define MEMPLAN_SERVER_SERVICES_UPLOAD_REACTOR_H_

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <memory>

#include "absl/status/status.h"
#include "memplan/v1/model_service.pb.h"
#include "server/base/work_queue.h"
#include "server/services/baton.h"
#include "server/store/model_store.h"

namespace memplan {

// What all uploads share. Thread-safe; outlives them.
struct UploadSupport {
  ModelStore& models;
  WorkQueue& disk;
  int max_uploads = 8;
  std::atomic<int> uploads = 0;  // in progress
};

// Owns itself: made by a handler, gone once gRPC is done with it.
class UploadReactor final
    : public grpc::ServerReadReactor<v1::UploadModelRequest> {
 public:
  // Begins to read, or refuses with TOO_MANY_UPLOADS. `response` lives until the
  // call has ended.
  UploadReactor(UploadSupport& support, v1::UploadModelResponse* response);

  void OnReadDone(bool ok) override;
  void OnDone() override;

 private:
  // On the queue, one at a time: takes what was read, then reads on or ends.
  void Step(bool ok);
  absl::Status Take();
  absl::Status TakeHeader(const v1::UploadHeader& header);
  absl::Status TakeChunk(const v1::UploadChunk& chunk);
  absl::Status Commit();
  absl::Status Truncated() const;
  void ReadOn();
  // Gives its place to another upload, then ends the call.
  void End(const absl::Status& status);

  UploadSupport& support_;
  v1::UploadModelResponse* const response_;
  v1::UploadModelRequest request_;
  std::unique_ptr<ModelUpload> upload_;  // set once the header has come
  int64_t received_bytes_ = 0;
  bool committed_ = false;
  Baton baton_;  // for all above
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_UPLOAD_REACTOR_H_
