// Client's uploads: what the daemon has of a file is not sent again.
#include <grpcpp/client_context.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "client/client.h"
#include "client/errors.h"
#include "client/model_file.h"
#include "client/waiting.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr milliseconds kFirstDelay = milliseconds(250);
constexpr milliseconds kLongestDelay = milliseconds(2000);

// True for what an upload may meet and go on after: a connection or a daemon that
// went away, bytes damaged on their way, a place or a turn to wait for.
bool MayGoOn(const absl::Status& status) {
  const std::string reason = ErrorReason(status);
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      return true;
    case absl::StatusCode::kAborted:
      return reason == "UPLOAD_IN_PROGRESS";
    case absl::StatusCode::kResourceExhausted:
      return reason == "TOO_MANY_UPLOADS" || reason == "SERVER_BUSY";
    case absl::StatusCode::kDataLoss:
      return reason == "CHUNK_CHECKSUM_MISMATCH";
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kInternal:
      return reason.empty();  // gRPC's own: the stream was cut
    default:
      return false;
  }
}

// Decides how often and how long an upload is tried.
class Persistence {
 public:
  explicit Persistence(milliseconds patience) : patience_(patience) {}

  // An attempt began with so many bytes at the daemon.
  void Saw(int64_t kept_bytes) {
    if (seen_ && kept_bytes <= kept_bytes_) return;
    seen_ = true;
    kept_bytes_ = kept_bytes;
    last_gain_ = SteadyClock::now();
    delay_ = kFirstDelay;
  }
  // True if the attempt that ended so is to be followed by another.
  bool GoesOn(const absl::Status& status, int64_t kept_bytes) {
    // Bytes kept from before were wrong; the daemon has thrown them away.
    if (ErrorReason(status) == "MODEL_HASH_MISMATCH" && kept_bytes > 0) {
      return std::exchange(may_begin_anew_, false);
    }
    // A daemon never heard from is not waited for.
    return seen_ && MayGoOn(status) &&
           SteadyClock::now() - last_gain_ < patience_;
  }
  milliseconds NextDelay() {
    return std::exchange(delay_, std::min(delay_ * 2, kLongestDelay));
  }

 private:
  const milliseconds patience_;
  bool seen_ = false;
  bool may_begin_anew_ = true;
  int64_t kept_bytes_ = 0;
  SteadyClock::time_point last_gain_;
  milliseconds delay_ = kFirstDelay;
};

}  // namespace

absl::StatusOr<v1::UploadModelResponse> Client::UploadModel(
    const std::string& path, const std::string& display_name,
    const UploadObserver& observer, const std::stop_token& stop) {
  MEMPLAN_ASSIGN_OR_RETURN(ModelFile file, ModelFile::Open(path));
  v1::UploadHeader header;
  MEMPLAN_ASSIGN_OR_RETURN(*header.mutable_sha256(), file.Sha256(stop));
  header.set_total_bytes(file.size_bytes());
  header.set_display_name(display_name);
  Persistence persistence(options_.reconnect_patience);
  for (;;) {
    v1::UploadModelResponse response;
    int64_t kept_bytes = -1;  // not known
    const absl::Status sent =
        UploadOnce(file, header, observer, stop, response, kept_bytes);
    if (sent.ok()) return response;
    // A stop is the caller's own doing, whatever gRPC makes of it.
    if (stop.stop_requested()) return StoppedByCaller();
    if (kept_bytes >= 0) persistence.Saw(kept_bytes);
    if (!persistence.GoesOn(sent, kept_bytes)) return sent;
    if (observer.on_wait) observer.on_wait(sent);
    WaitUnlessStopped(persistence.NextDelay(), stop);
  }
}

absl::Status Client::UploadOnce(ModelFile& file, const v1::UploadHeader& header,
                                const UploadObserver& observer,
                                const std::stop_token& stop,
                                v1::UploadModelResponse& response,
                                int64_t& kept_bytes) {
  absl::StatusOr<v1::Model> known = GetModel(header.sha256());
  if (absl::IsNotFound(known.status())) {
    kept_bytes = 0;
  } else if (!known.ok()) {
    return known.status();
  } else if (known->state() != v1::MODEL_STATE_UPLOADING) {
    *response.mutable_model() = *std::move(known);
    response.set_already_stored(true);
    return absl::OkStatus();
  } else {
    kept_bytes = known->size_bytes() == header.total_bytes()
                     ? known->committed_bytes()
                     : 0;
  }
  return SendModel(file, header, kept_bytes, observer, stop, response);
}

absl::Status Client::SendModel(ModelFile& file, const v1::UploadHeader& header,
                               int64_t offset, const UploadObserver& observer,
                               const std::stop_token& stop,
                               v1::UploadModelResponse& response) {
  file.Seek(offset);
  grpc::ClientContext context;
  SetSendDeadline(context, header.total_bytes());
  std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  const auto writer = models_->UploadModel(&context, &response);
  v1::UploadModelRequest message;
  *message.mutable_header() = header;
  bool open = writer->Write(message);
  int64_t sent = offset;
  while (open && sent < header.total_bytes()) {
    v1::UploadChunk& chunk = *message.mutable_chunk();
    if (absl::Status read = file.Read(*chunk.mutable_data()); !read.ok()) {
      context.TryCancel();
      (void)writer->Finish();
      return read;
    }
    chunk.set_offset_bytes(sent);
    chunk.set_crc32(ChunkChecksum(chunk.data()));
    open = writer->Write(message);
    sent += static_cast<int64_t>(chunk.data().size());
    if (observer.on_progress) observer.on_progress(sent, header.total_bytes());
  }
  message.mutable_commit();
  if (open && writer->Write(message)) writer->WritesDone();
  return FromRpc(writer->Finish());
}

}  // namespace memplan
