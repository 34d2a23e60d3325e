#include "server/program/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

constexpr int kUsageError = 2;
constexpr const char* kNone = "none";

// The options as they are typed.
struct TypedOptions {
  ServerOptions options;
  std::string listen = "127.0.0.1:7070";
  std::string metrics = "127.0.0.1:9464";
};

void Declare(CLI::App& app, TypedOptions& typed) {
  ServerOptions& options = typed.options;
  app.option_defaults()->take_last();
  app.set_version_flag("--version", "memplan-server " MEMPLAN_VERSION);
  app.add_option("--store", options.store,
                 "Folder for models, probes and traces")
      ->capture_default_str();
  app.add_option("--socket", options.socket, "Unix socket to listen on")
      ->capture_default_str();
  app.add_option("--listen", typed.listen,
                 "Loopback HOST:PORT to listen on as well, or none")
      ->capture_default_str();
  app.add_option("--metrics", typed.metrics,
                 "HOST:PORT of /metrics and /healthz, or none")
      ->capture_default_str();
  app.add_option(
         "--worker", options.worker,
         "Path of memplan-worker; none for a daemon that runs no probes")
      ->capture_default_str();
  app.add_option("--worker-library-path", options.worker_library_path,
                 "LD_LIBRARY_PATH of the worker alone, where libtorch is not "
                 "found without");
  app.add_flag("--exit-with-stdin", options.exit_with_stdin,
               "End when standard input ends, as a private daemon does");
}

absl::StatusOr<std::optional<HostPort>> ReadAddress(const std::string& text) {
  if (text == kNone) return std::nullopt;
  MEMPLAN_ASSIGN_OR_RETURN(HostPort address, ParseHostPort(text));
  return address;
}

absl::Status Complete(TypedOptions& typed) {
  ServerOptions& options = typed.options;
  MEMPLAN_ASSIGN_OR_RETURN(options.listen, ReadAddress(typed.listen));
  MEMPLAN_ASSIGN_OR_RETURN(options.metrics, ReadAddress(typed.metrics));
  if (options.listen && !IsLoopback(options.listen->host)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--listen ", typed.listen,
        ": calls are neither authenticated nor encrypted, so only loopback "
        "hosts (127.0.0.1, ::1, localhost) are taken; let a proxy face the "
        "network"));
  }
  if (options.store.empty()) {
    return absl::InvalidArgumentError(
        "neither XDG_STATE_HOME nor HOME is set; name a folder with --store");
  }
  if (options.socket.empty()) {
    return absl::InvalidArgumentError(
        "XDG_RUNTIME_DIR is not set; name a unix socket with --socket");
  }
  return absl::OkStatus();
}

EndAtOnce UsageError(const std::string& words) {
  return {.exit_code = kUsageError,
          .output = "",
          .error = absl::StrCat("memplan-server: ", words,
                                "\nRun memplan-server --help for the "
                                "options.\n")};
}

}  // namespace

std::variant<ServerOptions, EndAtOnce> ParseOptions(
    std::vector<std::string> arguments, const UserEnvironment& user) {
  TypedOptions typed;
  typed.options.store = DefaultStore(user);
  typed.options.socket = DefaultSocket(user);
  typed.options.worker = DefaultWorker();
  CLI::App app(
      "The memplan daemon: measures models in worker processes and serves what "
      "it finds over gRPC.",
      "memplan-server");
  Declare(app, typed);
  try {
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    app.parse(std::move(arguments));
  } catch (const CLI::Success& asked) {
    std::ostringstream output;
    std::ostringstream error;
    (void)app.exit(asked, output, error);
    return EndAtOnce{.exit_code = 0, .output = output.str(), .error = ""};
  } catch (const CLI::ParseError& wrong) {
    return UsageError(wrong.what());
  }
  if (absl::Status complete = Complete(typed); !complete.ok()) {
    return UsageError(std::string(complete.message()));
  }
  return typed.options;
}

}  // namespace memplan
