// One run of a scripted worker, from its order to its report.
#ifndef MEMPLAN_TESTS_SUPPORT_SCRIPTED_WORKER_SCRIPTED_TRIAL_H_
#define MEMPLAN_TESTS_SUPPORT_SCRIPTED_WORKER_SCRIPTED_TRIAL_H_

#include <cstdint>
#include <string>

#include "cuda/worker/messages/messages.h"
#include "tests/support/scripted_worker/script.h"

namespace memplan::testing {

inline constexpr int kExitAsScripted = 7;

// Dies, hangs or exits if the situation is one of these.
void Misbehave(const std::string& situation);

// What the scripted convolution takes for itself at a batch.
int64_t ScratchOfBatch(const Script& script, int64_t batch);

// Runs and reports, or behaves as the script has it for the request's batch.
void RunTrial(const Script& script, const gpu::TrialRequest& request);

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SUPPORT_SCRIPTED_WORKER_SCRIPTED_TRIAL_H_
