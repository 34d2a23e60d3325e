// The flags of `probe` and `profile` that say how a step is run beyond mode,
// optimizer and executor.
#ifndef MEMPLAN_CLIENT_CLI_STEP_FLAGS_H_
#define MEMPLAN_CLIENT_CLI_STEP_FLAGS_H_

#include <CLI/App.hpp>
#include <string>

#include "memplan/v1/probe_service.pb.h"

namespace memplan {

// `spec` and `loss`, a file or digits of a SHA-256, get what is given; both must
// outlive the parse.
void AddStepFlags(CLI::App& verb, v1::ProbeSpec& spec, std::string& loss);

// Reads `adamw` or `adamw:foreach` into `spec`, which is then trained. Throws
// CLI::ValidationError.
void ReadOptimizer(const std::string& text, v1::ProbeSpec& spec);

// What ReadOptimizer takes, for its flag's help.
std::string OptimizerChoices();

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_STEP_FLAGS_H_
