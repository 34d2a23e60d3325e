#include "server/workers/scratch_folders.h"

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

namespace fs = std::filesystem;

absl::Status MakeError(int error, const std::string& path) {
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot make the scratch folder ", path, ": ",
                   std::generic_category().message(error)));
}

// A model may have made folders that nobody can look into.
void OpenFolders(const fs::path& folder) {
  std::error_code error;
  fs::permissions(folder, fs::perms::owner_all, error);
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::error_code no_status;
    if (entry.symlink_status(no_status).type() == fs::file_type::directory) {
      OpenFolders(entry.path());
    }
  }
}

void RemoveTree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) return;
  OpenFolders(path);
  fs::remove_all(path, error);
  if (error) {
    spdlog::warn(
        "the scratch folder {} is not removed: {}; it is tried again "
        "at the next start",
        path.string(), error.message());
  }
}

}  // namespace

absl::StatusOr<ScratchFolder> ScratchFolder::Make(const std::string& parent) {
  std::string path = absl::StrCat(parent, "/trial-XXXXXX");
  if (mkdtemp(path.data()) == nullptr) return MakeError(errno, path);
  return ScratchFolder(std::move(path));
}

ScratchFolder::ScratchFolder(std::string path) : path_(std::move(path)) {}

ScratchFolder::~ScratchFolder() {
  if (!path_.empty()) RemoveTree(path_);
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, "")) {}

ScratchFolder& ScratchFolder::operator=(ScratchFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

absl::Status EmptyScratchFolders(const std::string& parent) {
  if (mkdir(parent.c_str(), 0700) != 0 && errno != EEXIST) {
    return MakeError(errno, parent);
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    RemoveTree(entry.path());
  }
  if (error) return MakeError(error.value(), parent);
  return absl::OkStatus();
}

SandboxLayer ScratchFolderLayer() {
  return {"scratch_folder", LayerState::kInForce,
          "HOME and TMPDIR of each worker, removed after its trial"};
}

}  // namespace memplan
