// The probe lives in a folder of its own: server/probe/probe.h.
#ifndef MEMPLAN_SERVER_JOBS_PROBE_H_
#define MEMPLAN_SERVER_JOBS_PROBE_H_

#include "server/probe/probe.h"

#endif  // MEMPLAN_SERVER_JOBS_PROBE_H_
