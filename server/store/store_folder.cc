#include "server/store/store_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "server/base/reason.h"
#include "server/store/file.h"

namespace memplan {
namespace {

bool IsFolder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

// Makes the folder and those above it that are missing.
absl::Status MakeFolders(const std::string& path) {
  std::filesystem::path made;
  for (const auto& part : std::filesystem::path(path)) {
    made /= part;
    if (mkdir(made.c_str(), 0700) == 0) continue;
    // One above that cannot be written may well be there already.
    const int error = errno;
    if (!IsFolder(made.string())) {
      return FileError(error == EEXIST ? ENOTDIR : error, "make the folder",
                       made.string());
    }
  }
  return absl::OkStatus();
}

// The text of a lock file: the holder's pid, or empty if it has not written it.
std::string HolderPid(int lock) {
  std::array<char, 32> text{};
  const ssize_t length = pread(lock, text.data(), text.size(), 0);
  std::string pid;
  for (ssize_t i = 0; i < length; ++i) {
    const char c = text[static_cast<size_t>(i)];
    if (c < '0' || c > '9') break;
    pid += c;
  }
  return pid;
}

absl::StatusOr<Descriptor> TakeLock(const std::string& folder) {
  const std::string path = folder + "/store.lock";
  Descriptor lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.is_open()) return FileError(errno, "open", path);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return FileError(errno, "lock", path);
    const std::string pid = HolderPid(lock.get());
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "the store ", folder, " is in use by another memplan-server",
            pid.empty() ? "" : absl::StrCat(" with pid ", pid),
            "; talk to that one, stop it, or choose another folder")),
        "STORE_IN_USE");
  }
  if (ftruncate(lock.get(), 0) != 0) return FileError(errno, "write", path);
  MEMPLAN_RETURN_IF_ERROR(
      WriteAll(lock.get(), absl::StrCat(getpid(), "\n"), path));
  return lock;
}

}  // namespace

StoreFolder::StoreFolder(std::string path, Descriptor lock)
    : path_(std::move(path)), lock_(std::move(lock)) {}

absl::StatusOr<std::unique_ptr<StoreFolder>> StoreFolder::Open(
    std::string path) {
  MEMPLAN_RETURN_IF_ERROR(MakeFolders(path));
  MEMPLAN_ASSIGN_OR_RETURN(Descriptor lock, TakeLock(path));
  std::unique_ptr<StoreFolder> folder(
      new StoreFolder(std::move(path), std::move(lock)));
  for (const std::string& part :
       {folder->models_path(), folder->parts_path(), folder->traces_path()}) {
    MEMPLAN_RETURN_IF_ERROR(MakeFolders(part));
  }
  MEMPLAN_RETURN_IF_ERROR(SyncFolder(folder->path()));
  return folder;
}

}  // namespace memplan
