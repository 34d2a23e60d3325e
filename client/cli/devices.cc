// memplan devices -- what models can be measured on, and its memory now.
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/cli/arguments.h"
#include "client/cli/connection.h"
#include "client/cli/listings.h"
#include "client/cli/verbs.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

struct DevicesOptions {
  DaemonOptions daemon;
  OutputFormat output = OutputFormat::kTable;
};

absl::Status ListDevices(const DevicesOptions& options, Console& console) {
  MEMPLAN_ASSIGN_OR_RETURN(
      const Connection connection,
      Connect(options.daemon, PrivateDaemonUse::kNever, console));
  MEMPLAN_ASSIGN_OR_RETURN(const v1::ListDevicesResponse devices,
                           connection.client->ListDevices());
  if (!devices.gpu_absence_reason().empty()) {
    console.Say(absl::StrCat("no GPU here: ", devices.gpu_absence_reason()));
  }
  return PrintAnswer(console, options.output, devices, DeviceTable(devices));
}

}  // namespace

void AddDevicesVerb(CLI::App& app, Command& command) {
  CLI::App* verb = app.add_subcommand(
      "devices", "List the devices and what their memory holds");
  auto options = std::make_shared<DevicesOptions>();
  AddOutputFlag(*verb, options->output);
  AddDaemonFlags(*verb, options->daemon);
  verb->callback([&command, options] {
    command = [options](Console& console) -> int {
      const absl::Status done = ListDevices(*options, console);
      return done.ok() ? kExitDone : console.Fail(done);
    };
  });
}

}  // namespace memplan
