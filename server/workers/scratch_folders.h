// The folders that workers may write to: one a trial, made for it and removed
// after it, below one folder that is emptied at start.
#ifndef MEMPLAN_SERVER_WORKERS_SCRATCH_FOLDERS_H_
#define MEMPLAN_SERVER_WORKERS_SCRATCH_FOLDERS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/server_status.h"

namespace memplan {

// One trial's folder; removed, with whatever a model left there, when this is
// destroyed. Movable; not thread-safe.
class ScratchFolder {
 public:
  // A new folder below `parent`, for this user alone. kResourceExhausted, with
  // the system's words.
  static absl::StatusOr<ScratchFolder> Make(const std::string& parent);

  ScratchFolder() = default;  // none
  ~ScratchFolder();
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&& other) noexcept;

  const std::string& path() const { return path_; }  // empty for none

 private:
  explicit ScratchFolder(std::string path);

  std::string path_;
};

// Makes the folder `parent` for this user alone if it is not there, and removes
// what trials of an earlier daemon left in it.
absl::Status EmptyScratchFolders(const std::string& parent);

// `scratch_folder`, a layer of the workers' sandbox.
SandboxLayer ScratchFolderLayer();

}  // namespace memplan

#endif  // MEMPLAN_SERVER_WORKERS_SCRATCH_FOLDERS_H_
