// Who asked for memory, as JSON in the store.
#ifndef MEMPLAN_SERVER_STORE_ATTRIBUTION_CODEC_H_
#define MEMPLAN_SERVER_STORE_ATTRIBUTION_CODEC_H_

#include <nlohmann/json.hpp>

#include "planner/plan/attribution.h"

namespace memplan {

nlohmann::json AttributedToJson(const AttributedRequest& request);
nlohmann::json ContentsToJson(const ContentsDependence& contents);

// Throw nlohmann's exceptions for JSON that is no such value.
AttributedRequest AttributedFromJson(const nlohmann::json& object);
ContentsDependence ContentsFromJson(const nlohmann::json& object);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_ATTRIBUTION_CODEC_H_
