// The verbs, one file each. Adding one gives the parser its flags; parsing a
// command line that names it sets `command` to what is to be done.
#ifndef MEMPLAN_CLIENT_CLI_VERBS_H_
#define MEMPLAN_CLIENT_CLI_VERBS_H_

#include <CLI/App.hpp>
#include <functional>

#include "client/cli/console.h"

namespace memplan {

// Does the work and returns the code to exit with.
using Command = std::function<int(Console& console)>;

void AddCheckVerb(CLI::App& app, Command& command);
void AddReserveVerb(CLI::App& app, Command& command);
void AddWaitVerb(CLI::App& app, Command& command);
void AddRenewVerb(CLI::App& app, Command& command);
void AddAdoptVerb(CLI::App& app, Command& command);
void AddReleaseVerb(CLI::App& app, Command& command);
void AddReservationsVerb(CLI::App& app, Command& command);
void AddRunVerb(CLI::App& app, Command& command);
void AddTopVerb(CLI::App& app, Command& command);
void AddModelsVerb(CLI::App& app, Command& command);
void AddDevicesVerb(CLI::App& app, Command& command);
void AddProbeVerb(CLI::App& app, Command& command);
void AddReplayVerb(CLI::App& app, Command& command);
void AddEstimateVerb(CLI::App& app, Command& command);
void AddProfileVerb(CLI::App& app, Command& command);
void AddWatchVerb(CLI::App& app, Command& command);
void AddCancelVerb(CLI::App& app, Command& command);
void AddListVerb(CLI::App& app, Command& command);
void AddStatusVerb(CLI::App& app, Command& command);
void AddLogLevelVerb(CLI::App& app, Command& command);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_VERBS_H_
