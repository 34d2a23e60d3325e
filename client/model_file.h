// A model's file on the client's side: opened once, hashed, then read in pieces
// as an upload wants them.
#ifndef MEMPLAN_CLIENT_MODEL_FILE_H_
#define MEMPLAN_CLIENT_MODEL_FILE_H_

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace memplan {

// Bytes of an upload's piece; the daemon takes up to 1 MiB.
inline constexpr size_t kUploadChunkBytes = size_t{512} * 1024;

// Not thread-safe.
class ModelFile {
 public:
  // kNotFound, kPermissionDenied, or kInvalidArgument for what is no regular
  // file or empty; the message has the path.
  static absl::StatusOr<ModelFile> Open(const std::string& path);

  int64_t size_bytes() const { return size_bytes_; }

  // SHA-256 of the whole file, 64 lower-case hexadecimal digits. The next Read
  // begins at the file's start. kCancelled if `stop` asks for it.
  absl::StatusOr<std::string> Sha256(const std::stop_token& stop);

  // The next Read begins at `offset`, which is within the file.
  void Seek(int64_t offset);

  // Fills `piece` with the next bytes, at most kUploadChunkBytes; empty at the
  // end. kAborted if the file has changed its size since Open.
  absl::Status Read(std::string& piece);

 private:
  ModelFile(std::string path, std::ifstream stream, int64_t size_bytes);

  std::string path_;
  std::ifstream stream_;
  int64_t size_bytes_;
  int64_t read_bytes_ = 0;
};

// CRC-32 as zlib computes it, for UploadChunk.
uint32_t ChunkChecksum(const std::string& piece);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_MODEL_FILE_H_
