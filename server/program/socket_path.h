// The path of the daemon's unix socket, made free before gRPC binds it: gRPC
// itself would take the path from a living daemon without a word.
#ifndef MEMPLAN_SERVER_PROGRAM_SOCKET_PATH_H_
#define MEMPLAN_SERVER_PROGRAM_SOCKET_PATH_H_

#include <string>

#include "absl/status/status.h"
#include "server/program/published_socket.h"

namespace memplan {

// Makes the folders above the socket's path that are missing, for the user alone
// or, if others may connect, for them to pass through, and removes the socket of a
// daemon that is dead. `flag` names the path in errors. Returns kInvalidArgument if
// the path is too long for a socket, kFailedPrecondition if a daemon answers there
// or something else than a socket has the name, others as the system says.
absl::Status ClaimSocketPath(const UnixSocket& socket, const std::string& flag);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_PROGRAM_SOCKET_PATH_H_
