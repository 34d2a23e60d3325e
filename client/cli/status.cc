// memplan status -- how the daemon does; made for health checks too, which its
// exit code answers.
#include <memory>

#include "client/cli/arguments.h"
#include "client/cli/connection.h"
#include "client/cli/status_report.h"
#include "client/cli/verbs.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

struct StatusOptions {
  DaemonOptions daemon;
  OutputFormat output = OutputFormat::kTable;
};

absl::StatusOr<int> ShowStatus(const StatusOptions& options, Console& console) {
  MEMPLAN_ASSIGN_OR_RETURN(
      const Connection connection,
      Connect(options.daemon, PrivateDaemonUse::kNever, console));
  MEMPLAN_ASSIGN_OR_RETURN(const v1::ServerStatus status,
                           connection.client->GetServerStatus());
  MEMPLAN_RETURN_IF_ERROR(
      PrintAnswer(console, options.output, status, StatusReport(status)));
  return IsHealthy(status) ? kExitDone : kExitError;
}

}  // namespace

void AddStatusVerb(CLI::App& app, Command& command) {
  CLI::App* verb = app.add_subcommand(
      "status", "Show how the daemon does; exits with 1 if a part is failing");
  auto options = std::make_shared<StatusOptions>();
  AddOutputFlag(*verb, options->output);
  AddDaemonFlags(*verb, options->daemon);
  verb->callback([&command, options] {
    command = [options](Console& console) -> int {
      const absl::StatusOr<int> done = ShowStatus(*options, console);
      return done.ok() ? *done : console.Fail(done.status());
    };
  });
}

}  // namespace memplan
