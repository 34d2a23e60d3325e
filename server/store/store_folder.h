// The daemon's folder on disk, held by one daemon at a time:
//
//   store.lock   locked as long as a daemon has the folder; its pid for people
//   memplan.db   what is known of models and probes (SQLite)
//   reservations.db  what is promised to whom (SQLite; server/admission)
//   models/      one file a model, named by its SHA-256, always whole
//   parts/       one file a model that is not whole, named by its SHA-256
//   traces/      one folder a probe, one file a trial
//   scratch/     one folder a running trial (server/workers/scratch_folders.h)
#ifndef MEMPLAN_SERVER_STORE_STORE_FOLDER_H_
#define MEMPLAN_SERVER_STORE_STORE_FOLDER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/descriptor.h"

namespace memplan {

// Thread-safe. The folder is free for another daemon once this is destroyed or
// the process has ended, however it ended.
class StoreFolder {
 public:
  // Takes the folder at `path`, making it and what is missing above it for the
  // user alone (mode 0700). kFailedPrecondition (STORE_IN_USE, with the
  // holder's pid) if another daemon has it; kPermissionDenied,
  // kResourceExhausted (STORE_FULL) and others as the system says.
  static absl::StatusOr<std::unique_ptr<StoreFolder>> Open(std::string path);

  const std::string& path() const { return path_; }
  std::string database_path() const { return path_ + "/memplan.db"; }
  std::string reservations_path() const { return path_ + "/reservations.db"; }
  std::string models_path() const { return path_ + "/models"; }
  std::string parts_path() const { return path_ + "/parts"; }
  // Of the trials that run; not the store's own.
  std::string scratch_path() const { return path_ + "/scratch"; }
  std::string traces_path() const { return path_ + "/traces"; }

 private:
  StoreFolder(std::string path, Descriptor lock);

  const std::string path_;
  const Descriptor lock_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_STORE_FOLDER_H_
