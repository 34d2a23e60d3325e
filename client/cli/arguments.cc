#include "client/cli/arguments.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "planner/base/format.h"

namespace memplan {
namespace {

constexpr char kDaemonGroup[] = "Daemon";
constexpr char kAddressHelp[] =
    "Where the daemon listens: unix:PATH or HOST:PORT (or MEMPLAN_ADDRESS)";

const Words<OutputFormat> kFormats = {{"table", OutputFormat::kTable},
                                      {"json", OutputFormat::kJson},
                                      {"yaml", OutputFormat::kYaml}};

// The value of `result`, or a usage error about the flag called `name`.
template <typename Value>
Value ValueOrThrow(const std::string& name, absl::StatusOr<Value> result) {
  if (!result.ok()) {
    throw CLI::ValidationError(name, std::string(result.status().message()));
  }
  return *std::move(result);
}

bool IsWord(const std::string& text) {
  return !text.empty() && !absl::ascii_isdigit(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

}  // namespace

absl::StatusOr<std::chrono::milliseconds> ParseTimeSpan(
    const std::string& text) {
  absl::Duration span;
  double seconds = 0;
  if (absl::SimpleAtod(text, &seconds)) {
    span = absl::Seconds(seconds);
  } else if (!absl::ParseDuration(text, &span)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", text, "\" is no time span; write 90s, 10m, 1h30m or 250ms"));
  }
  // absl takes `inf` for a span; nobody here can wait that long.
  if (span < absl::Milliseconds(1) || span > absl::Hours(24 * 365)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is not between 1ms and a year"));
  }
  return absl::ToChronoMilliseconds(span);
}

absl::StatusOr<std::pair<std::string, int64_t>> ParseNamedDimension(
    const std::string& text) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  int64_t value = 0;
  if (equals == std::string::npos || !IsWord(name) ||
      !absl::SimpleAtoi(text.substr(equals + 1), &value)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text,
                     "\" is no dimension; write NAME=VALUE, such as T=256 (and "
                     "--input before each input)"));
  }
  return std::pair(name, value);
}

std::vector<std::string> SplitInputSpecs(const std::string& text) {
  std::vector<std::string> specs(1);
  int depth = 0;  // brackets that are open
  for (const char c : text) {
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth <= 0 && (c == ';' || c == ',')) {
      specs.emplace_back();
    } else {
      specs.back() += c;
    }
  }
  for (std::string& spec : specs) absl::StripAsciiWhitespace(&spec);
  return specs;
}

void AddLeadingAddress(CLI::App& app) {
  app.add_option("--address", kAddressHelp)->type_name("ADDRESS");
}

void AddDaemonFlags(CLI::App& verb, DaemonOptions& options) {
  verb.parse_complete_callback([&verb, &options] {
    const CLI::App* root = &verb;
    while (root->get_parent() != nullptr) root = root->get_parent();
    const CLI::Option* leading = root->get_option_no_throw("--address");
    if (options.address.empty() && leading != nullptr && leading->count() > 0) {
      options.address = leading->as<std::string>();
    }
  });
  verb.add_option("--address", options.address, kAddressHelp)
      ->type_name("ADDRESS")
      ->group(kDaemonGroup);
  AddTimeSpanFlag(
      verb, "--timeout",
      [&options](std::chrono::milliseconds span) { options.timeout = span; },
      "The longest a call may take (default 15s); an upload gets a second more "
      "for each MiB, watching has no limit")
      ->group(kDaemonGroup);
  const auto add_tls = [&verb](const char* name, std::string& path,
                               const char* help) {
    verb.add_option(name, path, help)->type_name("FILE")->group(kDaemonGroup);
  };
  add_tls("--tls-ca", options.tls.ca,
          "PEM file of the CA of a daemon that is called over TCP with TLS (or "
          "MEMPLAN_TLS_CA)");
  add_tls(
      "--tls-certificate", options.tls.certificate,
      "PEM file of the certificate to show it (or MEMPLAN_TLS_CERTIFICATE)");
  add_tls("--tls-key", options.tls.key,
          "PEM file of the certificate's key (or MEMPLAN_TLS_KEY)");
}

void AddPrivateDaemonFlags(CLI::App& verb, DaemonOptions& options) {
  CLI::Option* local =
      verb.add_flag("--local", options.local,
                    "Start a private daemon for this command, even if one "
                    "answers on the default socket")
          ->group(kDaemonGroup)
          ->excludes("--address");
  const auto add = [&](const char* name, std::string& value, const char* type,
                       const char* help) {
    verb.add_option(name, value, help)
        ->type_name(type)
        ->group(kDaemonGroup)
        ->needs(local);
  };
  add("--store", options.store, "DIR",
      "With --local: where the private daemon keeps models and probes (or "
      "MEMPLAN_STORE; default the user's own store)");
  add("--worker", options.worker, "PATH",
      "With --local: the memplan-worker to use (or MEMPLAN_WORKER)");
  add("--worker-library-path", options.worker_library_path, "DIRS",
      "With --local: where the worker finds its libraries, folders apart by "
      "':' (or MEMPLAN_WORKER_LIBRARY_PATH)");
}

void AddOutputFlag(CLI::App& verb, OutputFormat& output) {
  AddWordFlag<OutputFormat>(
      verb, "--output,-o", kFormats,
      [&output](OutputFormat format) { output = format; },
      "Form of the answer (default table)")
      ->group("Output");
}

CLI::Option* AddBytesFlag(CLI::App& verb, const std::string& name,
                          std::function<void(Bytes)> store,
                          const std::string& help) {
  return verb
      .add_option_function<std::string>(
          name,
          [name, store = std::move(store)](const std::string& text) {
            store(ValueOrThrow(name, ParseBytes(text)));
          },
          help)
      ->type_name("SIZE");
}

CLI::Option* AddTimeSpanFlag(
    CLI::App& verb, const std::string& name,
    std::function<void(std::chrono::milliseconds)> store,
    const std::string& help) {
  return verb
      .add_option_function<std::string>(
          name,
          [name, store = std::move(store)](const std::string& text) {
            store(ValueOrThrow(name, ParseTimeSpan(text)));
          },
          help)
      ->type_name("SPAN");
}

}  // namespace memplan
