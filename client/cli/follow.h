// Follows a probe to its end on the console.
#ifndef MEMPLAN_CLIENT_CLI_FOLLOW_H_
#define MEMPLAN_CLIENT_CLI_FOLLOW_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/cli/console.h"
#include "client/cli/interruption.h"
#include "client/cli/printer.h"
#include "client/client.h"

namespace memplan {

// What an interruption does to the probe.
enum class OnInterruption { kCancelProbe, kLeaveProbe };

// Draws the progress line, and says if the daemon goes away or is back.
WatchObserver ObserverOn(Console& console);

// Draws the progress line until the probe has ended, and returns it then. After
// an interruption: with kCancelProbe cancels the probe, says so and returns it as
// it then is; with kLeaveProbe says that it goes on, and returns kCancelled.
absl::StatusOr<v1::Probe> FollowProbe(Client& client, const std::string& id,
                                      OnInterruption on_interruption,
                                      const Interruption& interruption,
                                      Console& console);

// Prints a probe that has ended, and on the console why it has no answer.
// Returns ExitCodeOfProbe, or 128 plus the signal's number after an
// interruption.
int PrintEndedProbe(const v1::Probe& probe, OutputFormat output,
                    const Interruption& interruption, Console& console);

// The code for a command that ended with `error`, which is said on the console
// unless an interruption explains it.
int FailUnlessInterrupted(const absl::Status& error,
                          const Interruption& interruption, Console& console);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_FOLLOW_H_
