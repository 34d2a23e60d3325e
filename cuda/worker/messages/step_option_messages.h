// StepOptions within messages, to JSON and back.
#ifndef MEMPLAN_CUDA_WORKER_MESSAGES_STEP_OPTION_MESSAGES_H_
#define MEMPLAN_CUDA_WORKER_MESSAGES_STEP_OPTION_MESSAGES_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cuda/worker/messages/json_reader.h"
#include "cuda/worker/messages/step_options.h"
#include "planner/plan/input_spec.h"

namespace memplan::gpu {

nlohmann::json StepOptionsToJson(const StepOptions& options);

// The member `options`, or the defaults without it; the parent has the faults.
StepOptions ReadStepOptions(JsonReader& parent);

nlohmann::json InputSpecsToJson(const std::vector<InputSpec>& specs);

// The member `name`, a list of at most `most` input specs.
std::vector<InputSpec> ReadInputSpecs(JsonReader& reader,
                                      const std::string& name, size_t most);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_MESSAGES_STEP_OPTION_MESSAGES_H_
