// The stored models: one file each, named by its SHA-256, in `models/` of the
// store's folder, with what is known of them in the database.
//
// An upload goes to `parts/`, is checked, synced and only then renamed to its
// name, so that a file under `models/` is always whole. A part outlives a broken
// upload, and the daemon, so that the upload can go on where it ended.
#ifndef MEMPLAN_SERVER_STORE_MODEL_STORE_H_
#define MEMPLAN_SERVER_STORE_MODEL_STORE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/store_quota.h"

namespace memplan {

enum class ModelState { kUploading, kReady };

// A model, or the part of one.
struct Model {
  std::string sha256;  // 64 lower-case hexadecimal digits
  std::string display_name;
  int64_t size_bytes = 0;                             // of the whole
  std::chrono::system_clock::time_point create_time;  // of a part: its begin
  ModelState state = ModelState::kReady;
  int64_t committed_bytes = 0;  // kept from the start; all of them once ready
  std::chrono::system_clock::time_point last_use_time;
};

// An upload in progress. Used by one thread at a time. What was written of it is
// kept when it is destroyed.
class ModelUpload {
 public:
  virtual ~ModelUpload() = default;
  // True if these bytes are stored already: chunks are checked but not written.
  virtual bool already_stored() const = 0;
  // How many bytes are kept: the next piece begins there, the first one there or
  // at 0, which begins the whole anew.
  virtual int64_t committed_bytes() const = 0;
  // Reads on in the bytes of an earlier upload, which the SHA-256 is made of too:
  // true if there are more [disk, for some 16 MiB]. Append and Commit do what is
  // left of it.
  virtual absl::StatusOr<bool> CatchUp() = 0;
  // Appends a piece [disk]. kInvalidArgument if `offset_bytes` is not where it is
  // to begin, `data` is empty or above 1 MiB, or it would pass the announced
  // total; kDataLoss (CHUNK_CHECKSUM_MISMATCH) if its CRC-32 is not `crc32`;
  // kResourceExhausted if the disk is full.
  virtual absl::Status Append(int64_t offset_bytes, std::string_view data,
                              uint32_t crc32) = 0;
  // Checks size, SHA-256 and that it looks like a TorchScript archive, makes it
  // durable and visible [disk]. kDataLoss (UPLOAD_TRUNCATED,
  // MODEL_HASH_MISMATCH), kInvalidArgument (NOT_A_TORCHSCRIPT_FILE); the last two
  // remove what was written.
  virtual absl::StatusOr<Model> Commit() = 0;
};

// Keeps a model from being deleted as long as it lives. Must not outlive the
// store.
class ModelPin {
 public:
  virtual ~ModelPin() = default;
};

// What the store holds, and has removed since it was opened to make room.
struct StoreUse {
  int64_t models = 0;
  int64_t model_bytes = 0;
  int64_t parts = 0;
  int64_t part_bytes = 0;  // written; not what was announced
  int64_t evictions = 0;
};

// Thread-safe. Methods marked [disk] may wait for the disk: not for handlers.
class ModelStore {
 public:
  virtual ~ModelStore() = default;

  // All models and parts, newest first.
  virtual std::vector<Model> List() const = 0;
  // A model or part. kNotFound (MODEL_NOT_FOUND).
  virtual absl::StatusOr<Model> Get(std::string_view sha256) const = 0;
  // The path of a stored model's file.
  virtual std::string Path(std::string_view sha256) const = 0;
  // Uses a whole model. kNotFound (MODEL_NOT_FOUND).
  virtual absl::StatusOr<std::unique_ptr<ModelPin>> Pin(
      std::string_view sha256) = 0;
  // Begins an upload, or resumes it [disk]. kInvalidArgument if the header is
  // malformed (its message begins with the field's name); kAborted
  // (UPLOAD_IN_PROGRESS) if the same archive is being uploaded;
  // kFailedPrecondition (UPLOAD_SIZE_DIFFERS) if a part of it is kept whose
  // upload announced another size, and stays as it is;
  // kResourceExhausted (UPLOAD_TOO_LARGE, STORE_QUOTA_EXCEEDED, STORE_FULL).
  virtual absl::StatusOr<std::unique_ptr<ModelUpload>> BeginUpload(
      std::string sha256, int64_t total_bytes, std::string display_name) = 0;
  // Removes a model or part [disk]. kNotFound, kFailedPrecondition
  // (MODEL_IN_USE).
  virtual absl::Status Delete(std::string_view sha256) = 0;
  // Removes the parts that nobody went on with for the rules' part_ttl, and
  // writes down what was used when [disk]. To be called now and then.
  virtual void Sweep() = 0;
  virtual StoreUse Use() const = 0;
};

class Database;
class StoreFolder;

using StoreClock = std::function<std::chrono::system_clock::time_point()>;

// The models in `folder`, which with `database` must outlive the store. Files
// and records that belong to no model and no part are removed. Errors: the disk's
// and the database's.
absl::StatusOr<std::unique_ptr<ModelStore>> OpenModelStore(
    const StoreFolder& folder, Database& database, StoreRules rules = {},
    StoreClock clock = &std::chrono::system_clock::now);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_MODEL_STORE_H_
