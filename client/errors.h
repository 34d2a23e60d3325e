// What went wrong in a call, for people and for scripts: a status whose payloads
// are the daemon's google.rpc details, the lines a person reads, and the code a
// program exits with. docs/errors.md lists the reasons, docs/cli.md the codes.
#ifndef MEMPLAN_CLIENT_ERRORS_H_
#define MEMPLAN_CLIENT_ERRORS_H_

#include <grpcpp/support/status.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "google/rpc/status.pb.h"

namespace memplan {

// The codes of docs/cli.md. A program stopped by a signal exits with 128 plus
// the signal's number instead.
enum ExitCode : int {
  kExitDone = 0,
  kExitError = 1,
  kExitUsage = 2,
  kExitNotNow = 3,
  kExitNever = 4,
  kExitUnreachable = 5,
  kExitNoPermission = 6,
  kExitUnknown = 7,
  // `memplan run` for what is not its command's: other codes are.
  kExitRunFailed = 125,
};

// The same code and message; each detail becomes a payload under its type URL.
absl::Status StatusFromProto(const google::rpc::Status& status);

// As StatusFromProto, with the details of the call's trailer if it has any.
absl::Status StatusFromRpc(const grpc::Status& status);

// kInvalidArgument that ExitCodeFor takes for a mistake in the command line.
absl::Status UsageError(const std::string& message);

// kCancelled: what a call returns that its stop token has ended.
absl::Status StoppedByCaller();

// ErrorInfo's reason, or empty.
std::string ErrorReason(const absl::Status& status);

// One or more lines without a newline at the end: the message, then what it does
// not say itself: fields (with the flag that sets them), preconditions, quotas,
// when to retry, the reason. Printable, since a message may quote a hostile model.
std::string ErrorText(const absl::Status& status);

// kExitDone for OK.
ExitCode ExitCodeFor(const absl::Status& status);

// `text` without the control characters a terminal would obey; newlines stay, a
// tab becomes a space.
std::string PrintableText(std::string_view text);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_ERRORS_H_
