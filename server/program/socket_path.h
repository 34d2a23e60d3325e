// The path of the daemon's unix socket, made free before gRPC binds it: gRPC
// itself would take the path from a living daemon without a word.
#ifndef MEMPLAN_SERVER_PROGRAM_SOCKET_PATH_H_
#define MEMPLAN_SERVER_PROGRAM_SOCKET_PATH_H_

#include <string>

#include "absl/status/status.h"

namespace memplan {

// Makes the folders above `path` that are missing, for the user alone, and
// removes the socket of a daemon that is dead. Returns kInvalidArgument if the
// path is too long for a socket, kFailedPrecondition if a daemon answers there
// or something else than a socket has the name, others as the system says.
absl::Status ClaimSocketPath(const std::string& path);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_PROGRAM_SOCKET_PATH_H_
