// memplan watch PROBE -- follows a probe to its end and prints its answer, or
// only waits for that.
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/arguments.h"
#include "client/cli/connection.h"
#include "client/cli/follow.h"
#include "client/cli/interruption.h"
#include "client/cli/verbs.h"
#include "client/cli/words.h"
#include "client/errors.h"

namespace memplan {
namespace {

struct WatchOptions {
  DaemonOptions daemon;
  OutputFormat output = OutputFormat::kTable;
  std::string id;
  // With it, nothing is drawn, and the wait is over after it.
  std::optional<std::chrono::milliseconds> wait;
};

int Watch(const WatchOptions& options, Console& console) {
  const Interruption interruption;
  const absl::StatusOr<Connection> connection =
      Connect(options.daemon, PrivateDaemonUse::kNever, console);
  if (!connection.ok()) return console.Fail(connection.status());
  Client& client = *connection->client;
  const absl::StatusOr<v1::Probe> probe =
      options.wait
          ? client.WaitProbe(options.id, *options.wait, ObserverOn(console),
                             interruption.token())
          : FollowProbe(client, options.id, OnInterruption::kLeaveProbe,
                        interruption, console);
  if (!probe.ok()) {
    return FailUnlessInterrupted(probe.status(), interruption, console);
  }
  if (!HasEnded(probe->state())) {
    const absl::Status printed =
        PrintAnswer(console, options.output, *probe,
                    absl::StrCat("probe ", probe->id(), " is ",
                                 StateWords(probe->state()), "\n"));
    return printed.ok() ? kExitNotNow : console.Fail(printed);
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
  AddTimeSpanFlag(
      *verb, "--wait",
      [options_ = options.get()](std::chrono::milliseconds span) {
        options_->wait = span;
      },
      "Draw nothing, and end after SPAN with code 3 if the probe has not");
  AddOutputFlag(*verb, options->output);
  AddDaemonFlags(*verb, options->daemon);
  verb->callback([&command, options] {
    command = [options](Console& console) { return Watch(*options, console); };
  });
}

}  // namespace memplan
