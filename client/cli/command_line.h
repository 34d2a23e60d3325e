// The command line as a whole: reads the arguments, runs the verb, gives the code
// to exit with.
#ifndef MEMPLAN_CLIENT_CLI_COMMAND_LINE_H_
#define MEMPLAN_CLIENT_CLI_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "client/cli/console.h"

namespace memplan {

// `arguments` without the program's name. Help and version go to the console's
// answer; a command line that cannot be read is kExitUsage.
int RunCommandLine(const std::vector<std::string>& arguments, Console& console);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_COMMAND_LINE_H_
