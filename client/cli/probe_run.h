// Runs the probe that `probe` or `profile` asked for: daemon, model, device,
// probe, progress, report.
#ifndef MEMPLAN_CLIENT_CLI_PROBE_RUN_H_
#define MEMPLAN_CLIENT_CLI_PROBE_RUN_H_

#include "client/cli/console.h"
#include "client/cli/probe_options.h"

namespace memplan {

// Returns the code to exit with. An interruption cancels the probe.
int RunProbe(const ProbeOptions& options, Console& console);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_PROBE_RUN_H_
