#include "client/cli/command_line.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "absl/strings/str_cat.h"
#include "client/cli/arguments.h"
#include "client/cli/verbs.h"
#include "client/errors.h"

namespace memplan {
namespace {

constexpr char kDescription[] =
    "Asks the memplan daemon how much GPU memory a model takes and which batch "
    "is safe.";

constexpr char kFooter[] =
    R"(The answer goes to standard output, everything else to standard error.
Exit codes: 0 done or fits, 1 error, 2 usage, 3 not now, 4 never fits, 5 daemon
unreachable, 6 no permission, 7 unknown; 128 + N after signal N. `run` passes on
its command's and has 125 for its own failures.
Every verb has its own --help. More in docs/cli.md.)";

// The verb the arguments name, for the hint below an error.
std::string VerbOf(const CLI::App& app) {
  std::string words = "memplan";
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().back();
    absl::StrAppend(&words, " ", at->get_name());
  }
  return words;
}

}  // namespace

int RunCommandLine(const std::vector<std::string>& arguments,
                   Console& console) {
  Command command;
  CLI::App app(kDescription, "memplan");
  app.footer(kFooter);
  app.set_version_flag("--version", "memplan " MEMPLAN_VERSION);
  app.require_subcommand(1);
  AddLeadingAddress(app);
  AddProbeVerb(app, command);
  AddProfileVerb(app, command);
  AddWatchVerb(app, command);
  AddCancelVerb(app, command);
  AddListVerb(app, command);
  AddReplayVerb(app, command);
  AddEstimateVerb(app, command);
  AddModelsVerb(app, command);
  AddDevicesVerb(app, command);
  AddCheckVerb(app, command);
  AddReserveVerb(app, command);
  AddWaitVerb(app, command);
  AddRenewVerb(app, command);
  AddAdoptVerb(app, command);
  AddReleaseVerb(app, command);
  AddReservationsVerb(app, command);
  AddRunVerb(app, command);
  AddTopVerb(app, command);
  AddStatusVerb(app, command);
  AddLogLevelVerb(app, command);
  try {
    // CLI11 takes a vector from its end.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    console.out() << app.help();
    return kExitDone;
  } catch (const CLI::CallForVersion& version) {
    console.out() << version.what() << "\n";
    return kExitDone;
  } catch (const CLI::ParseError& error) {
    const std::string verb = VerbOf(app);
    const int code = console.Fail(
        UsageError(absl::StrCat(error.what(), "\n  see ", verb, " --help")));
    return verb == "memplan run" ? kExitRunFailed : code;
  }
  return command(console);
}

}  // namespace memplan
