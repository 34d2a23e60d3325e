// The stored models: one file each, named by its SHA-256, in `models/` of the
// store's folder, with what is known of them in the database.
//
// An upload goes to `parts/`, is checked, synced and only then renamed to its
// name, so that a file under `models/` is always whole.
#ifndef MEMPLAN_SERVER_STORE_MODEL_STORE_H_
#define MEMPLAN_SERVER_STORE_MODEL_STORE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace memplan {

struct Model {
  std::string sha256;  // 64 lower-case hexadecimal digits
  std::string display_name;
  int64_t size_bytes = 0;
  std::chrono::system_clock::time_point create_time;
};

// An upload in progress. Used by one thread at a time. The destructor removes
// what was written unless Commit succeeded.
class ModelUpload {
 public:
  virtual ~ModelUpload() = default;
  // True if these bytes are stored already: chunks are checked but not written.
  virtual bool already_stored() const = 0;
  // Appends a piece [disk]. kInvalidArgument if `offset_bytes` is not where the
  // last piece ended, `data` is empty or above 1 MiB, or it would pass the
  // announced total; kDataLoss (CHUNK_CHECKSUM_MISMATCH) if its CRC-32 is not
  // `crc32`; kResourceExhausted if the disk is full.
  virtual absl::Status Append(int64_t offset_bytes, std::string_view data,
                              uint32_t crc32) = 0;
  // Checks size, SHA-256 and that it looks like a TorchScript archive, makes it
  // durable and visible [disk]. kDataLoss (UPLOAD_TRUNCATED,
  // MODEL_HASH_MISMATCH), kInvalidArgument (NOT_A_TORCHSCRIPT_FILE).
  virtual absl::StatusOr<Model> Commit() = 0;
};

// Keeps a model from being deleted as long as it lives. Must not outlive the
// store.
class ModelPin {
 public:
  virtual ~ModelPin() = default;
};

// Thread-safe. Methods marked [disk] may wait for the disk: not for handlers.
class ModelStore {
 public:
  virtual ~ModelStore() = default;

  // All models, newest first.
  virtual std::vector<Model> List() const = 0;
  // kNotFound (MODEL_NOT_FOUND).
  virtual absl::StatusOr<Model> Get(std::string_view sha256) const = 0;
  // The path of a stored model's file.
  virtual std::string Path(std::string_view sha256) const = 0;
  // kNotFound (MODEL_NOT_FOUND).
  virtual absl::StatusOr<std::unique_ptr<ModelPin>> Pin(
      std::string_view sha256) = 0;
  // Begins an upload [disk]. kInvalidArgument if the header is malformed (its
  // message begins with the field's name).
  virtual absl::StatusOr<std::unique_ptr<ModelUpload>> BeginUpload(
      std::string sha256, int64_t total_bytes, std::string display_name) = 0;
  // Removes a model [disk]. kNotFound, kFailedPrecondition (MODEL_IN_USE).
  virtual absl::Status Delete(std::string_view sha256) = 0;
};

class Database;
class StoreFolder;

// The models in `folder`, which with `database` must outlive the store. Files
// and records that belong to no whole model are removed. Errors: the disk's and
// the database's.
absl::StatusOr<std::unique_ptr<ModelStore>> OpenModelStore(
    const StoreFolder& folder, Database& database);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_MODEL_STORE_H_
