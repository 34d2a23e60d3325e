// A probe's answer as a person reads it: for a search the plan with the evidence
// of each number, for a profile a row a batch.
#ifndef MEMPLAN_CLIENT_CLI_PROBE_REPORT_H_
#define MEMPLAN_CLIENT_CLI_PROBE_REPORT_H_

#include <string>

#include "client/errors.h"
#include "memplan/v1/probe_service.pb.h"

namespace memplan {

// The report of a probe that has ended; of one without an answer, its trials.
std::string ProbeReport(const v1::Probe& probe);

// A row a trial: batch, purpose, outcome, peaks; then the words of those that failed.
std::string TrialTable(const v1::Probe& probe);

// What a command that asked for this probe exits with. A search: kExitDone if a
// batch was found (a fixed one too), kExitNever if not one sample fits. A
// profile: kExitNever if no batch fits and memory is why; kExitDone if every
// batch either fits or ran out of memory. kExitError for all else.
ExitCode ExitCodeOfProbe(const v1::Probe& probe);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_PROBE_REPORT_H_
