// What the verbs' command lines share: how values are read, and the flags that
// name the daemon and the form of the answer. A value that cannot be read throws
// CLI::ValidationError, which ends the program with kExitUsage.
#ifndef MEMPLAN_CLIENT_CLI_ARGUMENTS_H_
#define MEMPLAN_CLIENT_CLI_ARGUMENTS_H_

#include <CLI/App.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/printer.h"
#include "client/tls.h"
#include "planner/base/bytes.h"

namespace memplan {

// Which daemon to talk to. Empty texts: not given.
struct DaemonOptions {
  std::string address;  // the flag; ConnectionRule in connection.h has the rest
  std::chrono::milliseconds timeout = std::chrono::seconds(15);
  TlsPaths tls;  // the flags; MEMPLAN_TLS_… stand in for those left out
  // For verbs that may start a daemon of their own.
  bool local = false;
  // What that daemon stores is of no use later, so that commands which start one
  // do not keep one another from a store.
  bool keeps_nothing = false;
  std::string store;
  std::string worker;
  std::string worker_library_path;
};

// `90s`, `10m`, `1h30m`, `250ms`; a bare number is seconds. kInvalidArgument for
// anything else and for what is not positive.
absl::StatusOr<std::chrono::milliseconds> ParseTimeSpan(
    const std::string& text);

// `T=256`. kInvalidArgument for a name that is no word, or a value that is no
// number; the daemon judges the rest.
absl::StatusOr<std::pair<std::string, int64_t>> ParseNamedDimension(
    const std::string& text);

// The input specs of one text, which stand apart by ';' or ',' outside brackets;
// without spaces around. Whether each is one is the daemon's to judge.
std::vector<std::string> SplitInputSpecs(const std::string& text);

// --address as it may stand before the verb, where it counts for any verb that
// has none of its own.
void AddLeadingAddress(CLI::App& app);

// --address and --timeout.
void AddDaemonFlags(CLI::App& verb, DaemonOptions& options);

// --local, --store, --worker and --worker-library-path.
void AddPrivateDaemonFlags(CLI::App& verb, DaemonOptions& options);

// --output.
void AddOutputFlag(CLI::App& verb, OutputFormat& output);

// The words a flag takes, in the order its help shows them.
template <typename Value>
using Words = std::vector<std::pair<std::string, Value>>;

// A flag whose value is one of `words`. `store` gets what the word stands for.
template <typename Value>
CLI::Option* AddWordFlag(CLI::App& verb, const std::string& name,
                         const Words<Value>& words,
                         const std::function<void(Value)>& store,
                         const std::string& help) {
  std::string choices;
  for (const auto& [word, value] : words) {
    choices += (choices.empty() ? "" : "|") + word;
  }
  const auto take = [=](const std::string& text) {
    for (const auto& [word, value] : words) {
      if (word == text) return store(value);
    }
    throw CLI::ValidationError(name, "\"" + text + "\" is none of " + choices);
  };
  return verb.add_option_function<std::string>(name, take, help)
      ->type_name(choices);
}

// A flag of an amount of memory. `store` gets it.
CLI::Option* AddBytesFlag(CLI::App& verb, const std::string& name,
                          std::function<void(Bytes)> store,
                          const std::string& help);

// A flag of a time span.
CLI::Option* AddTimeSpanFlag(
    CLI::App& verb, const std::string& name,
    std::function<void(std::chrono::milliseconds)> store,
    const std::string& help);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_ARGUMENTS_H_
