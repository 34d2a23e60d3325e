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
Exit codes: 0 done or fits, 1 error, 2 usage, 4 never fits, 5 daemon
unreachable, 6 no permission; 128 + N after signal N.
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
    return console.Fail(UsageError(
        absl::StrCat(error.what(), "\n  see ", VerbOf(app), " --help")));
  }
  return command(console);
}

}  // namespace memplan
