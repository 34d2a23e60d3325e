// Runs one probe from its first trial to its end: names the next batch by the
// planner's rules, has it run, and tells what came of it. Knows no queue and no
// store.
#ifndef MEMPLAN_SERVER_JOBS_PROBE_EXECUTION_H_
#define MEMPLAN_SERVER_JOBS_PROBE_EXECUTION_H_

#include "server/jobs/execution_tools.h"
#include "server/probe/probe.h"

namespace memplan {

// A search asks DecideNext for each batch until it has the answer. A profile
// runs its batches in order, each once, and once more if its worker died. With a
// budget on a GPU, both begin with a trial that shows the context. The trials
// known before count as if run now, unless a worker of another version comes:
// then all begins anew.
//
// Ends with kFailed and what it has learned so far where the spec's time or
// trials are used up (PROBE_TIME_LIMIT, PROBE_TRIAL_LIMIT) or workers keep dying
// (WORKER_KEEPS_DYING). Ends with kCancelled if `cancel` is given or it may not
// go on. Blocks until then.
ProbeEnding ExecuteProbe(const ProbeSpec& spec, const ExecutionTools& tools);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_PROBE_EXECUTION_H_
