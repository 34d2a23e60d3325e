// memplan-server: the daemon. Runs in the foreground, logs to stderr, ends
// orderly on SIGTERM or SIGINT.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "server/program/daemon.h"
#include "server/program/end_signals.h"
#include "server/program/options.h"

namespace memplan {
namespace {

void LogToStderr() {
  auto logger = spdlog::stderr_logger_mt("memplan-server");
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %n: %l: %v");
  spdlog::set_default_logger(std::move(logger));
}

int Run(const std::vector<std::string>& arguments) {
  EndSignals signals;
  auto parsed = ParseOptions(arguments, ThisUser());
  if (const auto* end = std::get_if<EndAtOnce>(&parsed)) {
    (void)std::fputs(end->output.c_str(), stdout);
    (void)std::fputs(end->error.c_str(), stderr);
    return end->exit_code;
  }
  const auto& options = std::get<ServerOptions>(parsed);
  LogToStderr();
  auto daemon = Daemon::Start(options);
  if (!daemon.ok()) {
    const std::string words(daemon.status().message());
    (void)std::fprintf(stderr, "memplan-server: %s\n", words.c_str());
    return 1;
  }
  (void)std::fprintf(stderr, "memplan-server: %s\n",
                     (*daemon)->ReadyLine().c_str());
  const std::string end = signals.Wait(options.exit_with_stdin);
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
