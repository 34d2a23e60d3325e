#include "server/program/socket_path.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "server/base/descriptor.h"

namespace memplan {
namespace {

absl::Status MakeFolders(const std::filesystem::path& folder, mode_t mode,
                         const std::string& flag) {
  if (folder.empty() || access(folder.c_str(), F_OK) == 0) {
    return absl::OkStatus();
  }
  MEMPLAN_RETURN_IF_ERROR(MakeFolders(folder.parent_path(), mode, flag));
  if (mkdir(folder.c_str(), mode) == 0 || errno == EEXIST) {
    return absl::OkStatus();
  }
  return absl::ErrnoToStatus(
      errno, absl::StrCat("cannot make the socket's folder ", folder.string(),
                          "; choose another with ", flag));
}

// Others pass through the folder if they are to reach the socket.
mode_t FolderMode(const UnixSocket& socket) {
  const bool for_others = !socket.group.empty() || (socket.mode & S_IRWXO) != 0;
  return for_others ? S_IRWXU | S_IXGRP | S_IXOTH : S_IRWXU;
}

// 0 if somebody accepts connections at `path`, else why not, as an errno.
int Connect(const std::string& path) {
  const Descriptor socket_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket_.is_open()) return errno;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int connected =
      connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
              sizeof(address));
  return connected == 0 ? 0 : errno;
}

}  // namespace

absl::Status ClaimSocketPath(const UnixSocket& socket,
                             const std::string& flag) {
  const std::string& path = socket.path;
  if (path.size() > kMaxSocketPathBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, " ", path, " has ", path.size(),
                     " bytes; the system takes at most ", kMaxSocketPathBytes,
                     " for a socket, so choose a shorter path"));
  }
  MEMPLAN_RETURN_IF_ERROR(MakeFolders(std::filesystem::path(path).parent_path(),
                                      FolderMode(socket), flag));
  struct stat there = {};
  if (lstat(path.c_str(), &there) != 0) {
    if (errno == ENOENT) return absl::OkStatus();
    return absl::ErrnoToStatus(
        errno,
        absl::StrCat("cannot examine ", path, "; choose another with ", flag));
  }
  if (!S_ISSOCK(there.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, " is there and is no socket; choose another ", flag));
  }
  const int error = Connect(path);
  if (error == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("a daemon answers at ", path,
                     " already; stop it, or choose another ", flag));
  }
  if (error != ECONNREFUSED) {
    return absl::ErrnoToStatus(
        error, absl::StrCat("cannot tell whether a daemon answers at ", path));
  }
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot remove the dead socket ", path));
  }
  return absl::OkStatus();
}

}  // namespace memplan
