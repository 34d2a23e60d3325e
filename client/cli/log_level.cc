// memplan log-level LEVEL -- which lines the running daemon writes to its log.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/arguments.h"
#include "client/cli/connection.h"
#include "client/cli/verbs.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

struct LogLevelOptions {
  DaemonOptions daemon;
  v1::LogLevel level = v1::LOG_LEVEL_UNSPECIFIED;
};

const Words<v1::LogLevel>& Levels() {
  static const Words<v1::LogLevel> levels = {{"debug", v1::LOG_LEVEL_DEBUG},
                                             {"info", v1::LOG_LEVEL_INFO},
                                             {"warning", v1::LOG_LEVEL_WARNING},
                                             {"error", v1::LOG_LEVEL_ERROR}};
  return levels;
}

std::string LevelWords(v1::LogLevel level) {
  for (const auto& [word, known] : Levels()) {
    if (known == level) return word;
  }
  return absl::StrCat("level ", static_cast<int>(level));
}

absl::Status ChangeLogLevel(const LogLevelOptions& options, Console& console) {
  MEMPLAN_ASSIGN_OR_RETURN(
      const Connection connection,
      Connect(options.daemon, PrivateDaemonUse::kNever, console));
  MEMPLAN_ASSIGN_OR_RETURN(const v1::LogLevel previous,
                           connection.client->SetLogLevel(options.level));
  console.Say(absl::StrCat("the log's level is ", LevelWords(options.level),
                           " now; it was ", LevelWords(previous)));
  return absl::OkStatus();
}

}  // namespace

void AddLogLevelVerb(CLI::App& app, Command& command) {
  CLI::App* verb = app.add_subcommand(
      "log-level", "Set which lines the daemon writes to its log from now on");
  auto options = std::make_shared<LogLevelOptions>();
  AddWordFlag<v1::LogLevel>(
      *verb, "LEVEL", Levels(),
      [options](v1::LogLevel level) { options->level = level; },
      "The lowest level that is written")
      ->required();
  AddDaemonFlags(*verb, options->daemon);
  verb->callback([&command, options] {
    command = [options](Console& console) -> int {
      const absl::Status done = ChangeLogLevel(*options, console);
      return done.ok() ? kExitDone : console.Fail(done);
    };
  });
}

}  // namespace memplan
