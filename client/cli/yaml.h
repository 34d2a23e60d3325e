// JSON written as YAML: the same data in block style, so that whoever reads the
// one can read the other. Every text that YAML could take for something else
// than a text is quoted.
#ifndef MEMPLAN_CLIENT_CLI_YAML_H_
#define MEMPLAN_CLIENT_CLI_YAML_H_

#include <nlohmann/json.hpp>
#include <string>

namespace memplan {

// Ends with a newline. Objects keep the order of `json`. Texts must be UTF-8.
std::string ToYaml(const nlohmann::ordered_json& json);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_YAML_H_
