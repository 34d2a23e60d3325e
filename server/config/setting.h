// The settings of a program: each has one name, such as `max_upload_bytes`, from
// which follow its key in the file, its flag `--max-upload-bytes` and its
// variable `MEMPLAN_SERVER_MAX_UPLOAD_BYTES`. A flag comes before the variable,
// that before the file, that before the default.
#ifndef MEMPLAN_SERVER_CONFIG_SETTING_H_
#define MEMPLAN_SERVER_CONFIG_SETTING_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "server/config/setting_value.h"

namespace memplan {

struct Setting {
  std::string name;
  SettingValue value;
  std::string what;  // one sentence without its full stop
  // For documents, where the default depends on the machine or user.
  std::string default_words = {};
  // Where the value comes from: `default`, `FILE:LINE`, a variable or a flag.
  std::string origin = "default";
};

// Settings that stand together in --help and in documents.
struct SettingGroup {
  std::string title;
  std::vector<Setting> settings;
};

std::string FlagOf(const Setting& setting);
std::string VariableOf(const Setting& setting);

// What a variable's name begins with.
inline const std::string kVariablePrefix = "MEMPLAN_SERVER_";

// What the sources give.
struct SettingSources {
  std::string file;  // empty for none
  // Those of the environment whose names begin as ours do.
  std::vector<std::pair<std::string, std::string>> variables;
  std::map<std::string, std::string> flags;  // by the setting's name
};

// Reads every source into the settings. Returns what is wrong, each with where
// it stands and what would be right; nothing if all is well. Names of
// `other_variables` are no settings but known. Those that Kubernetes makes for a
// Service called memplan-server are not ours.
std::vector<std::string> ReadSettings(
    const SettingSources& sources,
    const std::vector<std::string>& other_variables,
    std::vector<SettingGroup>& groups);

// All settings as a file that would give the same, each with what it is and
// where it comes from.
std::string WriteSettings(const std::vector<SettingGroup>& groups);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONFIG_SETTING_H_
