// memplan cancel PROBE -- asks a probe to stop.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/arguments.h"
#include "client/cli/connection.h"
#include "client/cli/verbs.h"
#include "client/cli/words.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

struct CancelOptions {
  DaemonOptions daemon;
  OutputFormat output = OutputFormat::kTable;
  std::string id;
};

absl::Status CancelProbe(const CancelOptions& options, Console& console) {
  MEMPLAN_ASSIGN_OR_RETURN(
      const Connection connection,
      Connect(options.daemon, PrivateDaemonUse::kNever, console));
  MEMPLAN_ASSIGN_OR_RETURN(const v1::Probe probe,
                           connection.client->CancelProbe(options.id));
  const bool had_ended = probe.state() == v1::PROBE_STATE_SUCCEEDED ||
                         probe.state() == v1::PROBE_STATE_FAILED;
  if (had_ended) {
    console.Say(absl::StrCat("probe ", probe.id(),
                             " had ended already; it stays as it is"));
  }
  return PrintAnswer(console, options.output, probe,
                     absl::StrCat(probe.id(), " ",
                                  probe.state() == v1::PROBE_STATE_RUNNING
                                      ? "stopping"
                                      : StateWords(probe.state()),
                                  "\n"));
}

}  // namespace

void AddCancelVerb(CLI::App& app, Command& command) {
  CLI::App* verb =
      app.add_subcommand("cancel", "Stop a queued or running probe");
  auto options = std::make_shared<CancelOptions>();
  verb->add_option("PROBE", options->id, "The probe's id")
      ->required()
      ->type_name("");
  AddOutputFlag(*verb, options->output);
  AddDaemonFlags(*verb, options->daemon);
  verb->callback([&command, options] {
    command = [options](Console& console) -> int {
      const absl::Status done = CancelProbe(*options, console);
      return done.ok() ? kExitDone : console.Fail(done);
    };
  });
}

}  // namespace memplan
