// memplan list -- the daemon's probes, newest first.
#include <memory>

#include "client/cli/arguments.h"
#include "client/cli/connection.h"
#include "client/cli/listings.h"
#include "client/cli/verbs.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

struct ListOptions {
  DaemonOptions daemon;
  OutputFormat output = OutputFormat::kTable;
  int limit = 100;
};

absl::Status ListProbes(const ListOptions& options, Console& console) {
  MEMPLAN_ASSIGN_OR_RETURN(
      const Connection connection,
      Connect(options.daemon, PrivateDaemonUse::kNever, console));
  MEMPLAN_ASSIGN_OR_RETURN(const v1::ListProbesResponse probes,
                           connection.client->ListProbes(options.limit));
  return PrintAnswer(console, options.output, probes, ProbeTable(probes));
}

}  // namespace

void AddListVerb(CLI::App& app, Command& command) {
  CLI::App* verb = app.add_subcommand("list", "List probes, newest first");
  auto options = std::make_shared<ListOptions>();
  verb->add_option("--limit", options->limit,
                   "The most probes to list (default 100)")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->type_name("COUNT");
  AddOutputFlag(*verb, options->output);
  AddDaemonFlags(*verb, options->daemon);
  verb->callback([&command, options] {
    command = [options](Console& console) -> int {
      const absl::Status done = ListProbes(*options, console);
      return done.ok() ? kExitDone : console.Fail(done);
    };
  });
}

}  // namespace memplan
