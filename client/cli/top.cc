// memplan top -- who holds which memory, again and again.
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "client/cli/admission_report.h"
#include "client/cli/arguments.h"
#include "client/cli/connection.h"
#include "client/cli/interruption.h"
#include "client/cli/verbs.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

using std::chrono::milliseconds;

// Home, and clear from there.
constexpr char kClearScreen[] = "\x1b[H\x1b[2J";

struct TopOptions {
  DaemonOptions daemon;
  bool once = false;
  milliseconds interval = std::chrono::seconds(2);
};

absl::Status ShowOnce(Client& client, bool clear, Console& console) {
  MEMPLAN_ASSIGN_OR_RETURN(const v1::ListDevicesResponse devices,
                           client.ListDevices());
  MEMPLAN_ASSIGN_OR_RETURN(const v1::ListReservationsResponse reservations,
                           client.ListReservations(false, ""));
  console.out() << (clear ? kClearScreen : "")
                << TopReport(devices, reservations);
  console.out().flush();
  return absl::OkStatus();
}

// True if the stop was asked for.
bool Pause(milliseconds length, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, length, [] { return false; });
  return stop.stop_requested();
}

absl::Status ShowTop(const TopOptions& options, const std::stop_token& stop,
                     Console& console) {
  MEMPLAN_ASSIGN_OR_RETURN(
      const Connection connection,
      Connect(options.daemon, PrivateDaemonUse::kNever, console));
  const bool repeats = !options.once && console.shows_progress();
  do {
    MEMPLAN_RETURN_IF_ERROR(ShowOnce(*connection.client, repeats, console));
  } while (repeats && !Pause(options.interval, stop));
  return absl::OkStatus();
}

}  // namespace

void AddTopVerb(CLI::App& app, Command& command) {
  CLI::App* verb = app.add_subcommand(
      "top",
      "Show devices, the processes on them and reservations, and keep the "
      "picture fresh");
  auto options = std::make_shared<TopOptions>();
  verb->add_flag("--once", options->once,
                 "Once, as also where no terminal is there");
  AddTimeSpanFlag(
      *verb, "--interval",
      [options](milliseconds span) { options->interval = span; },
      "How often (default 2s)");
  AddDaemonFlags(*verb, options->daemon);
  verb->callback([&command, options] {
    command = [options](Console& console) -> int {
      const Interruption interruption;
      const absl::Status done =
          ShowTop(*options, interruption.token(), console);
      return done.ok() ? kExitDone : console.Fail(done);
    };
  });
}

}  // namespace memplan
