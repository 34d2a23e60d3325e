// What a worker reports, in the words of trials. Pure.
#ifndef MEMPLAN_SERVER_WORKERS_TRIAL_FROM_REPORT_H_
#define MEMPLAN_SERVER_WORKERS_TRIAL_FROM_REPORT_H_

#include "cuda/worker/messages/messages.h"
#include "server/jobs/trial_runner.h"

namespace memplan {

// The trial as far as the worker knows it: without batch, purpose, context,
// times and trace. `refused` is set for a request that does not go with the
// model. Messages are trimmed; a trial that fits has none. One that ran in memory
// that is not the card's is out of memory, of the class `spilled`.
TrialResult ResultFrom(gpu::Report report);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_WORKERS_TRIAL_FROM_REPORT_H_
