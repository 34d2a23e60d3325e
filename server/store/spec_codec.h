// Probe specs as JSON, without loss. Reading throws, as json_record.h says.
#ifndef MEMPLAN_SERVER_STORE_SPEC_CODEC_H_
#define MEMPLAN_SERVER_STORE_SPEC_CODEC_H_

#include <nlohmann/json_fwd.hpp>

#include "server/probe/probe.h"

namespace memplan {

nlohmann::json SpecToJson(const ProbeSpec& spec);
ProbeSpec SpecFromJson(const nlohmann::json& json);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_SPEC_CODEC_H_
