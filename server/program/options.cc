#include "server/program/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/config/nearest_name.h"
#include "server/config/setting.h"
#include "server/program/settings.h"

namespace memplan {
namespace {

constexpr int kUsageError = 2;
constexpr const char* kNoFile = "none";
constexpr const char* kConfigVariable = "MEMPLAN_SERVER_CONFIG";

// What is typed, as it is typed.
struct CommandLine {
  std::string config;  // empty if none is named
  bool check_config = false;
  bool print_config = false;
  std::map<std::string, std::string> flags;  // by the setting's name
};

void DeclareSetting(CLI::App& app, const std::string& group,
                    const Setting& setting, CommandLine& typed) {
  if (setting.value.toml == TomlForm::kBoolean) {
    app.add_flag_function(
           FlagOf(setting),
           [&typed, name = setting.name](int64_t yes) {
             typed.flags[name] = yes > 0 ? "true" : "false";
           },
           setting.what)
        ->group(group);
    return;
  }
  app.add_option_function<std::string>(
         FlagOf(setting),
         [&typed, name = setting.name](const std::string& text) {
           typed.flags[name] = text;
         },
         setting.what)
      ->type_name(setting.value.form)
      ->default_str(setting.value.write())
      ->group(group);
}

void Declare(CLI::App& app, const std::vector<SettingGroup>& groups,
             CommandLine& typed) {
  app.option_defaults()->take_last();
  app.allow_extras();
  app.set_version_flag("--version", "memplan-server " MEMPLAN_VERSION);
  app.add_option("--config", typed.config,
                 "TOML file of settings, or none; without it "
                 "$MEMPLAN_SERVER_CONFIG and, for root and under systemd, "
                 "/etc/memplan/memplan-server.toml if it is there")
      ->type_name("FILE");
  app.add_flag("--check-config", typed.check_config,
               "Read all settings, say what is wrong with them, and end");
  app.add_flag("--print-config", typed.print_config,
               "Print all settings as TOML, each with its origin, and end");
  app.footer(
      "Each setting is also a key of the file and a variable: --drain-grace is "
      "drain_grace and\nMEMPLAN_SERVER_DRAIN_GRACE. A flag comes before the "
      "variable, that before the file.");
  for (const SettingGroup& group : groups) {
    for (const Setting& setting : group.settings) {
      DeclareSetting(app, group.title, setting, typed);
    }
  }
}

std::string ConfigFile(const CommandLine& typed, const UserEnvironment& user) {
  std::string file = typed.config;
  for (const auto& [name, value] : user.variables) {
    if (file.empty() && name == kConfigVariable) file = value;
  }
  if (file.empty()) file = user.config_file;
  return file == kNoFile ? "" : file;
}

// What CLI11 reads otherwise than it stands there: `--store=` takes the next
// argument as its value, and `--insecure=no` any number or word for yes.
std::string WrongValue(const std::vector<std::string>& arguments,
                       const std::vector<SettingGroup>& groups) {
  for (const std::string& argument : arguments) {
    const size_t equals = argument.find('=');
    if (!absl::StartsWith(argument, "--") || equals == std::string::npos) {
      continue;
    }
    const std::string name = argument.substr(0, equals);
    const std::string value = argument.substr(equals + 1);
    if (value.empty()) {
      return absl::StrCat(name, "= has no value; write ", name,
                          "=VALUE, or leave it out");
    }
    for (const SettingGroup& group : groups) {
      for (const Setting& setting : group.settings) {
        const bool is_yes_no = setting.value.toml == TomlForm::kBoolean;
        if (!is_yes_no || FlagOf(setting) != name) continue;
        if (value != "true" && value != "false") {
          return absl::StrCat(name, "=", value,
                              ": `true` or `false` is needed");
        }
      }
    }
  }
  return "";
}

// What was typed that is no option.
std::vector<std::string> WrongArguments(
    const CLI::App& app, const std::vector<SettingGroup>& groups) {
  std::vector<std::string> known = {"--config", "--check-config",
                                    "--print-config", "--version", "--help"};
  for (const SettingGroup& group : groups) {
    for (const Setting& setting : group.settings) {
      known.push_back(FlagOf(setting));
    }
  }
  std::vector<std::string> wrong;
  for (const std::string& argument : app.remaining()) {
    // What follows an unknown option may be its value.
    if (!wrong.empty() && !absl::StartsWith(argument, "-")) continue;
    const std::string name = argument.substr(0, argument.find('='));
    const std::string nearest = NearestName(name, known);
    wrong.push_back(absl::StrCat(
        "there is no option ", name,
        nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?")));
  }
  return wrong;
}

EndAtOnce UsageError(const std::vector<std::string>& wrong) {
  return {.exit_code = kUsageError,
          .output = "",
          .error = absl::StrCat(
              "memplan-server: ", absl::StrJoin(wrong, "\nmemplan-server: "),
              "\nRun memplan-server --help for the "
              "options.\n")};
}

// Reads the sources into `options`, which `groups` are bound to.
std::variant<ServerOptions, EndAtOnce> Read(const CommandLine& typed,
                                            const UserEnvironment& user,
                                            const ServerOptions& options,
                                            std::vector<SettingGroup>& groups) {
  const SettingSources sources = {.file = ConfigFile(typed, user),
                                  .variables = user.variables,
                                  .flags = typed.flags};
  std::vector<std::string> wrong =
      ReadSettings(sources, {kConfigVariable}, groups);
  // A value that could not be read makes no sense together with others.
  if (wrong.empty()) wrong = CheckTogether(options);
  if (!wrong.empty()) return UsageError(wrong);
  if (typed.print_config) {
    return EndAtOnce{
        .exit_code = 0,
        .output = absl::StrCat(
            "# memplan-server " MEMPLAN_VERSION
            ": the settings in force, each with where it comes from.\n",
            WriteSettings(groups)),
        .error = ""};
  }
  if (typed.check_config) {
    return EndAtOnce{
        .exit_code = 0,
        .output = absl::StrCat(
            sources.file.empty() ? "" : absl::StrCat(sources.file, ": "),
            "configuration is fine\n"),
        .error = ""};
  }
  return options;
}

}  // namespace

std::variant<ServerOptions, EndAtOnce> ParseOptions(
    std::vector<std::string> arguments, const UserEnvironment& user) {
  ServerOptions options;
  options.store = DefaultStore(user);
  options.socket.path = DefaultSocket(user);
  options.worker = DefaultWorker();
  std::vector<SettingGroup> groups = Settings(options);
  CommandLine typed;
  CLI::App app(
      "The memplan daemon: measures models in worker processes and serves what "
      "it finds over gRPC.",
      "memplan-server");
  Declare(app, groups, typed);
  if (const std::string wrong = WrongValue(arguments, groups); !wrong.empty()) {
    return UsageError({wrong});
  }
  try {
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    app.parse(std::move(arguments));
  } catch (const CLI::Success& asked) {
    std::ostringstream output;
    std::ostringstream error;
    (void)app.exit(asked, output, error);
    return EndAtOnce{.exit_code = 0, .output = output.str(), .error = ""};
  } catch (const CLI::ParseError& wrong) {
    return UsageError({wrong.what()});
  }
  if (const auto wrong = WrongArguments(app, groups); !wrong.empty()) {
    return UsageError(wrong);
  }
  return Read(typed, user, options, groups);
}

}  // namespace memplan
