#include "server/program/published_socket.h"

#include <grp.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

constexpr size_t kGroupEntryBytes = 1 << 16;

}  // namespace

absl::StatusOr<gid_t> FindGroup(const std::string& group) {
  if (group.empty()) return getegid();
  gid_t number = 0;
  if (absl::SimpleAtoi(group, &number)) return number;
  struct group entry = {};
  struct group* found = nullptr;
  std::string buffer(kGroupEntryBytes, '\0');
  const int error =
      getgrnam_r(group.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr) return found->gr_gid;
  return absl::NotFoundError(absl::StrCat(
      "there is no group ", group,
      error == 0 ? "" : absl::StrCat(" (error ", error, ")"),
      "; make it with `groupadd --system ", group, "`, or name another"));
}

absl::StatusOr<std::unique_ptr<PublishedSocket>> PublishedSocket::Prepare(
    const UnixSocket& socket, const std::string& flag) {
  MEMPLAN_ASSIGN_OR_RETURN(const gid_t group, FindGroup(socket.group));
  std::string parent = std::filesystem::path(socket.path).parent_path();
  if (parent.empty()) parent = ".";
  std::string folder = absl::StrCat(parent, "/.XXXXXX");
  if (folder.size() + 2 > kMaxSocketPathBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, " ", socket.path,
                     ": the folder's path is too long for a socket; "
                     "choose a shorter one"));
  }
  if (mkdtemp(folder.data()) == nullptr) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot make the socket ", socket.path,
                            "; let this user write to its folder, or choose "
                            "another with ",
                            flag));
  }
  return std::unique_ptr<PublishedSocket>(
      new PublishedSocket(socket, group, std::move(folder)));
}

PublishedSocket::~PublishedSocket() {
  (void)unlink(bind_path().c_str());
  (void)rmdir(folder_.c_str());
  struct stat there = {};
  if (is_published_ && lstat(socket_.path.c_str(), &there) == 0 &&
      there.st_dev == device_ && there.st_ino == inode_) {
    (void)unlink(socket_.path.c_str());
  }
}

absl::Status PublishedSocket::Publish() {
  const std::string bound = bind_path();
  // The mode last: a change of the group may clear bits of it.
  if (chown(bound.c_str(), static_cast<uid_t>(-1), group_) != 0) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot give the socket ", socket_.path,
                            " to the group ", socket_.group,
                            "; make the daemon's user a member of it, or "
                            "choose another group"));
  }
  struct stat made = {};
  if (chmod(bound.c_str(), static_cast<mode_t>(socket_.mode)) != 0 ||
      lstat(bound.c_str(), &made) != 0 ||
      rename(bound.c_str(), socket_.path.c_str()) != 0) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot make the socket ", socket_.path));
  }
  (void)rmdir(folder_.c_str());  // so that a kill leaves nothing behind
  is_published_ = true;
  device_ = made.st_dev;
  inode_ = made.st_ino;
  return absl::OkStatus();
}

}  // namespace memplan
