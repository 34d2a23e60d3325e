// Prints an answer in the form the user chose. JSON is the message as proto JSON
// with proto field names, zero values printed and int64 as text; YAML is the same
// data; a table is for people, and its form may change.
#ifndef MEMPLAN_CLIENT_CLI_PRINTER_H_
#define MEMPLAN_CLIENT_CLI_PRINTER_H_

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/statusor.h"
#include "client/cli/console.h"

namespace memplan {

enum class OutputFormat { kTable, kJson, kYaml };

// JSON on one line, or on many.
enum class JsonLayout { kOneLine, kIndented };

// Ends with a newline. kInternal if the message has a detail of a type this
// program does not know.
absl::StatusOr<std::string> JsonText(const google::protobuf::Message& message,
                                     JsonLayout layout = JsonLayout::kIndented);
absl::StatusOr<std::string> YamlText(const google::protobuf::Message& message);

// Writes `message`, or `table` in its stead, to the console's answer.
absl::Status PrintAnswer(Console& console, OutputFormat format,
                         const google::protobuf::Message& message,
                         const std::string& table,
                         JsonLayout layout = JsonLayout::kIndented);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_PRINTER_H_
