// How a program warmed up, in a person's words.
#ifndef MEMPLAN_CLIENT_CLI_WARM_UP_WORDS_H_
#define MEMPLAN_CLIENT_CLI_WARM_UP_WORDS_H_

#include <string>

#include "memplan/v1/probe_service.pb.h"

namespace memplan {

// `2 steps (1: 1.37 GiB in 644 ms; 2: 2.12 GiB in 320 ms), then 2.13 GiB
// requested in 44 ms` and the like, from the plan of a probe and the steps of the
// trial that it names; without the steps if the probe comes without its trials.
// Empty if the plan does not tell.
std::string WarmUpWords(const v1::Probe& probe);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_WARM_UP_WORDS_H_
