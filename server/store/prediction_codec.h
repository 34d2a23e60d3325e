// What was predicted beside an answer, as JSON: as much of it as a plan tells.
// Reading throws, as json_record.h says.
#ifndef MEMPLAN_SERVER_STORE_PREDICTION_CODEC_H_
#define MEMPLAN_SERVER_STORE_PREDICTION_CODEC_H_

#include <nlohmann/json_fwd.hpp>

#include "planner/plan/predicted_answer.h"

namespace memplan {

nlohmann::json PredictionToJson(const PredictedAnswer& predicted);
PredictedAnswer PredictionFromJson(const nlohmann::json& json);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_PREDICTION_CODEC_H_
