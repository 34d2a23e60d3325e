#include "server/store/attribution_codec.h"

#include <cstdint>
#include <string>
#include <vector>

namespace memplan {

nlohmann::json AttributedToJson(const AttributedRequest& request) {
  return {{"bytes", request.bytes.count()},
          {"phase", request.phase},
          {"operator_name", request.operator_name},
          {"innermost_name", request.innermost_name}};
}

nlohmann::json ContentsToJson(const ContentsDependence& contents) {
  return {{"operator_names", contents.operator_names},
          {"at_peak_bytes", contents.at_peak.count()}};
}

AttributedRequest AttributedFromJson(const nlohmann::json& object) {
  return {Bytes(object.at("bytes").get<int64_t>()),
          object.at("phase").get<std::string>(),
          object.at("operator_name").get<std::string>(),
          object.at("innermost_name").get<std::string>()};
}

ContentsDependence ContentsFromJson(const nlohmann::json& object) {
  return {object.at("operator_names").get<std::vector<std::string>>(),
          Bytes(object.at("at_peak_bytes").get<int64_t>())};
}

}  // namespace memplan
