// How a step is run, and the steps of a trial, in a person's words.
#ifndef MEMPLAN_CLIENT_CLI_STEP_WORDS_H_
#define MEMPLAN_CLIENT_CLI_STEP_WORDS_H_

#include <string>

#include "memplan/v1/plan.pb.h"
#include "memplan/v1/probe_service.pb.h"

namespace memplan {

// `, autocast bf16, 4 micro-batches a step` and the like; empty for the plain
// loop.
std::string StepOptionWords(const v1::StepOptions& step);

// `step 2 of 4`, `the evaluation at batch 64`: step `index`, from 0, of a trial
// of `spec`; −1 is the load.
std::string StepWords(const v1::ProbeSpec& spec, int index);

// ` (foreach)` and the like; empty for libtorch's.
std::string ImplementationWords(v1::OptimizerImplementation implementation);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_STEP_WORDS_H_
