// Trials and plans as JSON, without loss. Reading throws, as json_record.h says.
#ifndef MEMPLAN_SERVER_STORE_TRIAL_CODEC_H_
#define MEMPLAN_SERVER_STORE_TRIAL_CODEC_H_

#include <nlohmann/json_fwd.hpp>

#include "planner/plan/plan.h"
#include "planner/plan/trial.h"

namespace memplan {

nlohmann::json TrialToJson(const Trial& trial);
Trial TrialFromJson(const nlohmann::json& json);

nlohmann::json PlanToJson(const Plan& plan);
Plan PlanFromJson(const nlohmann::json& json);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_TRIAL_CODEC_H_
