#include "server/program/service_manager.h"

#include <spdlog/spdlog.h>
#include <systemd/sd-daemon.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace memplan {
namespace {

using std::chrono::milliseconds;

constexpr int kKeepEnvironment = 0;
constexpr int kPingsInTime = 4;
// The end of the daemon may have to wait for a check that fails.
constexpr milliseconds kMostPatience = std::chrono::seconds(10);

void Tell(const std::string& state) {
  const int sent = sd_notify(kKeepEnvironment, state.c_str());
  if (sent < 0) {
    spdlog::warn("the service manager at $NOTIFY_SOCKET cannot be told {}: {}",
                 state,
                 std::error_code(-sent, std::generic_category()).message());
  }
}

}  // namespace

void TellReady(const std::string& words) {
  Tell(absl::StrCat("READY=1\nSTATUS=", words));
}

void TellStopping() { Tell("STOPPING=1\nSTATUS=draining"); }

std::unique_ptr<Ticker> StartWatchdog(Daemon& daemon) {
  uint64_t microseconds = 0;
  if (sd_watchdog_enabled(kKeepEnvironment, &microseconds) <= 0) return nullptr;
  const milliseconds interval = std::chrono::duration_cast<milliseconds>(
                                    std::chrono::microseconds(microseconds)) /
                                kPingsInTime;
  return std::make_unique<Ticker>(interval, [&daemon, interval] {
    const absl::Status alive =
        daemon.CheckAlive(std::min(interval, kMostPatience));
    if (alive.ok()) {
      Tell("WATCHDOG=1");
    } else {
      spdlog::error("the watchdog is not fed: {}",
                    std::string(alive.message()));
    }
  });
}

}  // namespace memplan
