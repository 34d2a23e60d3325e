// Settings in a flat TOML file: keys at the top level, no tables.
//
//   store = "/var/lib/memplan"
//   max_upload_bytes = "10GiB"
//   expected_gpus = 8
#ifndef MEMPLAN_SERVER_CONFIG_SETTING_FILE_H_
#define MEMPLAN_SERVER_CONFIG_SETTING_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/config/setting_value.h"

namespace memplan {

struct FileSetting {
  std::string key;
  int line = 0;  // the first is 1
  TomlForm form = TomlForm::kString;
  // As a flag would have it.
  std::string text;
  // Why it cannot be a setting, for a table or a date, say; else empty.
  std::string wrong;
};

// In the order of the file. Returns kInvalidArgument, with the line and column,
// if it is no TOML; else why it could not be read.
absl::StatusOr<std::vector<FileSetting>> ReadSettingFile(
    const std::string& path);

// `value` (as SettingValue::write has it) as TOML has it.
std::string WriteToml(const std::string& value, TomlForm form);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONFIG_SETTING_FILE_H_
