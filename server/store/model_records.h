// The database's rows about models and parts.
#ifndef MEMPLAN_SERVER_STORE_MODEL_RECORDS_H_
#define MEMPLAN_SERVER_STORE_MODEL_RECORDS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/database.h"
#include "server/store/model_store.h"

namespace memplan {

// Thread-safe as the database, which must outlive it. Every method waits for the
// disk and returns the database's errors.
class ModelRecords {
 public:
  explicit ModelRecords(Database& database) : database_(database) {}

  absl::StatusOr<std::vector<Model>> ReadModels();
  // Without committed_bytes and last_use_time, which the files have.
  absl::StatusOr<std::vector<Model>> ReadParts();
  // Replaces the record of an older part.
  absl::Status WritePart(const Model& part);
  // A model that is ready; the record of its part is removed with it.
  absl::Status WriteModel(const Model& model);
  // Both the model's and the part's.
  absl::Status Remove(const std::string& sha256);
  absl::Status WriteLastUses(const std::vector<Model>& models);

 private:
  Database& database_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_MODEL_RECORDS_H_
