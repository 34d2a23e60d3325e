#include "server/store/file.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "server/base/reason.h"

namespace memplan {

absl::Status FileError(int error, std::string_view what,
                       const std::string& path) {
  const std::string message =
      absl::StrCat("cannot ", std::string(what), " ", path, ": ",
                   std::generic_category().message(error));
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return WithReason(
          absl::ResourceExhaustedError(absl::StrCat(
              message, "; free space there, or delete models or probes")),
          "STORE_FULL");
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(
          absl::StrCat(message, "; choose a folder that this user may write"));
    case ENOENT:
      return absl::NotFoundError(message);
    default:
      return absl::InternalError(message);
  }
}

absl::Status WriteAll(int descriptor, std::string_view bytes,
                      const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return FileError(errno, "write", path);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status SyncFile(int descriptor, const std::string& path) {
  if (fsync(descriptor) != 0) return FileError(errno, "sync", path);
  return absl::OkStatus();
}

absl::Status SyncFolder(const std::string& path) {
  const Descriptor folder(
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return FileError(errno, "open", path);
  return SyncFile(folder.get(), path);
}

absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(path, error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    names.push_back(entry->path().filename().string());
    entry.increment(error);
  }
  if (error) return FileError(error.value(), "read the folder", path);
  return names;
}

absl::Status RemoveAll(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) return FileError(error.value(), "remove", path);
  return absl::OkStatus();
}

absl::StatusOr<int64_t> DiskFreeBytes(const std::string& path) {
  struct statvfs disk {};
  if (statvfs(path.c_str(), &disk) != 0) {
    return FileError(errno, "examine the disk of", path);
  }
  return static_cast<int64_t>(
      std::min<uint64_t>(uint64_t{disk.f_bavail} * disk.f_frsize, INT64_MAX));
}

}  // namespace memplan
