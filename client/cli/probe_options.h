// The flags that `probe` and `profile` share: model, inputs, mode, limit, device.
// They fill a ProbeSpec; what depends on the daemon (model, device) is filled in
// by probe_run.
#ifndef MEMPLAN_CLIENT_CLI_PROBE_OPTIONS_H_
#define MEMPLAN_CLIENT_CLI_PROBE_OPTIONS_H_

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "client/cli/arguments.h"
#include "memplan/v1/probe_service.pb.h"

namespace memplan {

struct ProbeOptions {
  DaemonOptions daemon;
  OutputFormat output = OutputFormat::kTable;
  std::string model;                         // a file, or digits of a SHA-256
  std::string loss;                          // the same; empty for none
  std::string device;                        // empty: the first GPU, else cpu
  std::vector<std::string> dimensions;       // NAME=VALUE, by --dim
  std::vector<std::string> bare_dimensions;  // the same, without a flag
  bool detach = false;
  v1::ProbeSpec spec;
};

// Adds the shared flags. `options` must outlive the parse.
void AddProbeFlags(CLI::App& verb, ProbeOptions& options);

// What can be said only once all flags are read: fills in dimensions, mode and
// way to run. Throws CLI::ValidationError.
void FinishProbeOptions(ProbeOptions& options);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_PROBE_OPTIONS_H_
