// The programs that a probe runs, kept from being deleted.
#ifndef MEMPLAN_SERVER_JOBS_PROGRAM_PINS_H_
#define MEMPLAN_SERVER_JOBS_PROGRAM_PINS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "server/probe/probe.h"
#include "server/store/model_store.h"

namespace memplan {

using ProgramPins = std::vector<std::unique_ptr<ModelPin>>;

// Pins the model of `spec` and its loss, if it has one. kNotFound
// (MODEL_NOT_FOUND) with the field's path in CreateProbeRequest.
absl::StatusOr<ProgramPins> PinPrograms(ModelStore& models,
                                        const ProbeSpec& spec);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_PROGRAM_PINS_H_
