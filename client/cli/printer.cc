#include "client/cli/printer.h"

#include <google/protobuf/util/json_util.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/cli/yaml.h"
#include "planner/base/status_macros.h"

namespace memplan {

absl::StatusOr<std::string> JsonText(const google::protobuf::Message& message,
                                     JsonLayout layout) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = layout == JsonLayout::kIndented;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status =
      google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!status.ok()) {
    return absl::InternalError(absl::StrCat(
        "the answer cannot be written as JSON: ", status.ToString(),
        "; --output table can show it"));
  }
  if (layout == JsonLayout::kOneLine) text += '\n';
  return text;
}

absl::StatusOr<std::string> YamlText(const google::protobuf::Message& message) {
  MEMPLAN_ASSIGN_OR_RETURN(const std::string json, JsonText(message));
  return ToYaml(nlohmann::ordered_json::parse(json));
}

absl::Status PrintAnswer(Console& console, OutputFormat format,
                         const google::protobuf::Message& message,
                         const std::string& table, JsonLayout layout) {
  std::string text = table;
  if (format == OutputFormat::kJson) {
    MEMPLAN_ASSIGN_OR_RETURN(text, JsonText(message, layout));
  } else if (format == OutputFormat::kYaml) {
    MEMPLAN_ASSIGN_OR_RETURN(text, YamlText(message));
  }
  console.ClearProgress();
  console.out() << text << std::flush;
  if (!console.out()) {
    return absl::DataLossError(
        "the answer could not be written to standard output");
  }
  return absl::OkStatus();
}

}  // namespace memplan
