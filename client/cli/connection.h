// Finds the daemon a verb talks to.
//
//   --address, else MEMPLAN_ADDRESS      that one, or an error
//   --local                              a private daemon
//   else the first default socket on which somebody answers (address.h),
//   else, for verbs that may, a private daemon, else an error
#ifndef MEMPLAN_CLIENT_CLI_CONNECTION_H_
#define MEMPLAN_CLIENT_CLI_CONNECTION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "client/cli/arguments.h"
#include "client/cli/console.h"
#include "client/cli/private_daemon.h"
#include "client/client.h"

namespace memplan {

struct Connection {
  // Null if the daemon is not ours. Outlives the client.
  std::unique_ptr<PrivateDaemon> private_daemon;
  std::unique_ptr<Client> client;
};

enum class PrivateDaemonUse { kNever, kIfNoneAnswers };

// Says on the console if a private daemon is started, and why. UsageError for an
// address that cannot be read; kUnavailable if nobody answers.
absl::StatusOr<Connection> Connect(const DaemonOptions& options,
                                   PrivateDaemonUse use, Console& console);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_CONNECTION_H_
