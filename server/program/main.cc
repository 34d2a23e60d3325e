// memplan-server: the daemon. Runs in the foreground, logs to stderr, ends
// orderly on SIGTERM or SIGINT.
#include <spdlog/spdlog.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "server/base/log.h"
#include "server/program/daemon.h"
#include "server/program/end_signals.h"
#include "server/program/options.h"
#include "server/program/service_manager.h"

namespace memplan {
namespace {

// Waits for the end, and keeps whoever started the daemon as a service informed.
std::string WaitAsService(Daemon& daemon, EndSignals& signals) {
  TellReady(daemon.ReadyLine());
  std::unique_ptr<Ticker> watchdog = StartWatchdog(daemon);
  std::string end = signals.Wait(false);
  TellStopping();
  watchdog = nullptr;
  return end;
}

int Run(const std::vector<std::string>& arguments) {
  // Debian's Abseil checks the order of locks each time gRPC takes one.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  EndSignals signals;
  auto parsed = ParseOptions(arguments, ThisUser());
  if (const auto* end = std::get_if<EndAtOnce>(&parsed)) {
    (void)std::fputs(end->output.c_str(), stdout);
    (void)std::fputs(end->error.c_str(), stderr);
    return end->exit_code;
  }
  const auto& options = std::get<ServerOptions>(parsed);
  StartLogging(options.log_format, options.log_level);
  auto daemon = Daemon::Start(options);
  if (!daemon.ok()) {
    const std::string words(daemon.status().message());
    (void)std::fprintf(stderr, "memplan-server: %s\n", words.c_str());
    return 1;
  }
  Announce((*daemon)->ReadyLine());
  const std::string end = options.exit_with_stdin
                              ? signals.Wait(true)
                              : WaitAsService(**daemon, signals);
  spdlog::info("ending, because of {}", end);
  (*daemon)->Stop();
  return 0;
}

}  // namespace
}  // namespace memplan

int main(int argc, char** argv) {
  try {
    return memplan::Run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    (void)std::fprintf(stderr, "memplan-server: %s\n", error.what());
    return 1;
  }
}
