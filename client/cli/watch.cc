// memplan watch PROBE -- follows a probe to its end and prints its answer.
#include <memory>
#include <string>

#include "client/cli/arguments.h"
#include "client/cli/connection.h"
#include "client/cli/follow.h"
#include "client/cli/interruption.h"
#include "client/cli/verbs.h"

namespace memplan {
namespace {

struct WatchOptions {
  DaemonOptions daemon;
  OutputFormat output = OutputFormat::kTable;
  std::string id;
};

int Watch(const WatchOptions& options, Console& console) {
  const Interruption interruption;
  const absl::StatusOr<Connection> connection =
      Connect(options.daemon, PrivateDaemonUse::kNever, console);
  if (!connection.ok()) return console.Fail(connection.status());
  const absl::StatusOr<v1::Probe> probe =
      FollowProbe(*connection->client, options.id, OnInterruption::kLeaveProbe,
                  interruption, console);
  if (!probe.ok()) {
    return FailUnlessInterrupted(probe.status(), interruption, console);
  }
  return PrintEndedProbe(*probe, options.output, interruption, console);
}

}  // namespace

void AddWatchVerb(CLI::App& app, Command& command) {
  CLI::App* verb = app.add_subcommand(
      "watch", "Follow a probe to its end and print its answer");
  auto options = std::make_shared<WatchOptions>();
  verb->add_option("PROBE", options->id, "The probe's id")
      ->required()
      ->type_name("");
  AddOutputFlag(*verb, options->output);
  AddDaemonFlags(*verb, options->daemon);
  verb->callback([&command, options] {
    command = [options](Console& console) { return Watch(*options, console); };
  });
}

}  // namespace memplan
