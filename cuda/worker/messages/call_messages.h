// Operator calls and their plans within messages, to JSON and back. A plan is
// one list of numbers: n > 0 asks for n bytes, as the next request; −r frees
// request r, and requests count from 0.
#ifndef MEMPLAN_CUDA_WORKER_MESSAGES_CALL_MESSAGES_H_
#define MEMPLAN_CUDA_WORKER_MESSAGES_CALL_MESSAGES_H_

#include <nlohmann/json.hpp>
#include <vector>

#include "cuda/worker/messages/json_reader.h"
#include "cuda/worker/messages/messages.h"
#include "planner/trace/irregular_calls.h"

namespace memplan::gpu {

nlohmann::json CallsToJson(const std::vector<DistinctCall>& calls);
nlohmann::json ResultsToJson(const std::vector<CallResult>& results);

// The members `calls` and `results`; the parent has the faults.
std::vector<DistinctCall> ReadCalls(JsonReader& parent);
std::vector<CallResult> ReadResults(JsonReader& parent);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_MESSAGES_CALL_MESSAGES_H_
