// Where a daemon listens, as people write it: `unix:PATH`, a bare absolute path,
// or `HOST:PORT`. Also the rule for where one is looked for if nobody says.
#ifndef MEMPLAN_CLIENT_ADDRESS_H_
#define MEMPLAN_CLIENT_ADDRESS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace memplan {

struct DaemonAddress {
  std::string target;       // as gRPC takes it: `unix:PATH` or `HOST:PORT`
  std::string socket_path;  // empty for `HOST:PORT`
  friend bool operator==(const DaemonAddress&, const DaemonAddress&) = default;
};

// Reads an address. Returns kInvalidArgument, with the text and the accepted
// forms, for anything else, for a port outside 1 … 65535 and for a socket path
// longer than the 107 bytes the system allows.
absl::StatusOr<DaemonAddress> ParseAddress(const std::string& text);

// Where a daemon is looked for without an address, in this order: the user's own
// socket below `runtime_folder` ($XDG_RUNTIME_DIR; none if empty or for root),
// then the machine's below /run.
std::vector<DaemonAddress> DefaultAddresses(bool is_root,
                                            const std::string& runtime_folder);

// OK if somebody accepts connections at a unix socket's address; always OK for
// `HOST:PORT`, where only a call can tell. kUnavailable if nobody does,
// kPermissionDenied if this user may not connect.
absl::Status CheckAnswers(const DaemonAddress& address);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_ADDRESS_H_
