// A unix socket that appears under its name only once it has its mode and group,
// so that at no moment somebody can connect who may not. gRPC binds it in a fresh
// folder that is closed to others; from there it is renamed:
//
//   /run/memplan/.Xa81kQ/s  ── chown, chmod, rename ──▶  /run/memplan/memplan.sock
#ifndef MEMPLAN_SERVER_PROGRAM_PUBLISHED_SOCKET_H_
#define MEMPLAN_SERVER_PROGRAM_PUBLISHED_SOCKET_H_

#include <sys/types.h>
#include <sys/un.h>

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace memplan {

// The longest path that the system takes for a socket.
inline constexpr size_t kMaxSocketPathBytes =
    sizeof(sockaddr_un{}.sun_path) - 1;

struct UnixSocket {
  std::string path;
  int mode = 0660;
  std::string group = {};  // a name or number; empty: that of the process
};

// The group's number. kNotFound, with what to do, if the system has none such.
absl::StatusOr<gid_t> FindGroup(const std::string& group);

// Used by one thread.
class PublishedSocket {
 public:
  // Makes the folder to bind in, beside the socket's path; the folders above it
  // must be there (ClaimSocketPath). An error says why not, with what to do;
  // `flag` is the one that names the path.
  static absl::StatusOr<std::unique_ptr<PublishedSocket>> Prepare(
      const UnixSocket& socket, const std::string& flag);
  // Removes what there is of it, unless another process took the name.
  ~PublishedSocket();
  PublishedSocket(const PublishedSocket&) = delete;
  PublishedSocket& operator=(const PublishedSocket&) = delete;

  // What gRPC is to bind.
  std::string bind_path() const { return folder_ + "/s"; }

  // Gives the socket, which is bound, its group, mode and name. A socket of that
  // name, which nobody answers at, is replaced.
  absl::Status Publish();

 private:
  PublishedSocket(const UnixSocket& socket, gid_t group, std::string folder)
      : socket_(socket), group_(group), folder_(std::move(folder)) {}

  const UnixSocket socket_;
  const gid_t group_;
  const std::string folder_;
  bool is_published_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_PROGRAM_PUBLISHED_SOCKET_H_
