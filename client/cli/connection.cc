#include "client/cli/connection.h"

#include <unistd.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/address.h"
#include "client/cli/environment.h"
#include "client/errors.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

Connection ConnectTo(DaemonAddress address, const DaemonOptions& options) {
  return {.private_daemon = nullptr,
          .client = std::make_unique<Client>(ClientOptions{
              .address = std::move(address), .timeout = options.timeout})};
}

// The flags, else the environment's variables. A mistake is one of usage.
absl::StatusOr<TlsTexts> TlsOf(const DaemonOptions& options) {
  TlsPaths paths = options.tls;
  const auto complete = [](std::string& path, const char* variable) {
    if (path.empty()) path = EnvironmentValue(variable);
  };
  complete(paths.ca, "MEMPLAN_TLS_CA");
  complete(paths.certificate, "MEMPLAN_TLS_CERTIFICATE");
  complete(paths.key, "MEMPLAN_TLS_KEY");
  absl::StatusOr<TlsTexts> texts = ReadTls(paths);
  if (!texts.ok() && absl::IsInvalidArgument(texts.status())) {
    return UsageError(std::string(texts.status().message()));
  }
  return texts;
}

absl::StatusOr<Connection> ConnectToNamed(const std::string& text,
                                          const DaemonOptions& options) {
  absl::StatusOr<DaemonAddress> address = ParseAddress(text);
  if (!address.ok()) {
    return UsageError(std::string(address.status().message()));
  }
  if (absl::Status answers = CheckAnswers(*address); !answers.ok()) {
    if (!absl::IsUnavailable(answers)) return answers;
    return absl::UnavailableError(
        absl::StrCat(answers.message(),
                     "; start memplan-server there, or name another "
                     "daemon with --address"));
  }
  if (!address->socket_path.empty()) {
    return ConnectTo(*std::move(address), options);
  }
  MEMPLAN_ASSIGN_OR_RETURN(TlsTexts tls, TlsOf(options));
  return Connection{.private_daemon = nullptr,
                    .client = std::make_unique<Client>(
                        ClientOptions{.address = *std::move(address),
                                      .tls = std::move(tls),
                                      .timeout = options.timeout})};
}

// `flag`, else the environment's variable, as an argument of memplan-server.
void PassOn(const char* name, const std::string& flag, const char* variable,
            std::vector<std::string>& arguments) {
  const std::string value = flag.empty() ? EnvironmentValue(variable) : flag;
  if (value.empty()) return;
  arguments.insert(arguments.end(), {name, value});
}

absl::StatusOr<Connection> StartPrivateDaemon(const DaemonOptions& options) {
  PrivateDaemonOptions daemon_options;
  MEMPLAN_ASSIGN_OR_RETURN(daemon_options.program, FindServerProgram());
  std::vector<std::string>& arguments = daemon_options.arguments;
  if (options.keeps_nothing && options.store.empty()) {
    daemon_options.has_own_store = true;
  } else {
    PassOn("--store", options.store, "MEMPLAN_STORE", arguments);
  }
  PassOn("--worker", options.worker, "MEMPLAN_WORKER", arguments);
  PassOn("--worker-library-path", options.worker_library_path,
         "MEMPLAN_WORKER_LIBRARY_PATH", arguments);
  MEMPLAN_ASSIGN_OR_RETURN(std::unique_ptr<PrivateDaemon> daemon,
                           PrivateDaemon::Start(std::move(daemon_options)));
  // If it dies there is nothing to come back to, so nothing is waited for.
  ClientOptions client_options = {
      .address = {.target = absl::StrCat("unix:", daemon->socket_path()),
                  .socket_path = daemon->socket_path()},
      .timeout = options.timeout,
      .reconnect_patience = std::chrono::milliseconds(0)};
  return Connection{
      .private_daemon = std::move(daemon),
      .client = std::make_unique<Client>(std::move(client_options))};
}

}  // namespace

absl::StatusOr<Connection> Connect(const DaemonOptions& options,
                                   PrivateDaemonUse use, Console& console) {
  if (options.local) {
    console.Say("starting a private daemon for this command");
    return StartPrivateDaemon(options);
  }
  const std::string named = options.address.empty()
                                ? EnvironmentValue("MEMPLAN_ADDRESS")
                                : options.address;
  if (!named.empty()) return ConnectToNamed(named, options);
  std::vector<std::string> tried;
  for (DaemonAddress& address :
       DefaultAddresses(geteuid() == 0, EnvironmentValue("XDG_RUNTIME_DIR"))) {
    const absl::Status answers = CheckAnswers(address);
    if (answers.ok()) return ConnectTo(std::move(address), options);
    if (!absl::IsUnavailable(answers)) return answers;
    tried.push_back(std::move(address.target));
  }
  const std::string nobody =
      absl::StrCat("no daemon answers at ", absl::StrJoin(tried, " or "));
  if (use == PrivateDaemonUse::kNever) {
    return absl::UnavailableError(absl::StrCat(
        nobody, "; start memplan-server, or name one with --address"));
  }
  console.Say(
      absl::StrCat(nobody, ": starting a private one for this command"));
  return StartPrivateDaemon(options);
}

}  // namespace memplan
