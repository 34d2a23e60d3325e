#include "server/config/setting.h"

#include <algorithm>
#include <regex>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/config/nearest_name.h"
#include "server/config/setting_file.h"

namespace memplan {
namespace {

Setting* Find(std::vector<SettingGroup>& groups, const std::string& name) {
  for (SettingGroup& group : groups) {
    for (Setting& setting : group.settings) {
      if (setting.name == name) return &setting;
    }
  }
  return nullptr;
}

std::vector<std::string> Names(const std::vector<SettingGroup>& groups,
                               std::string (*name_of)(const Setting&)) {
  std::vector<std::string> names;
  for (const SettingGroup& group : groups) {
    for (const Setting& setting : group.settings) {
      names.push_back(name_of(setting));
    }
  }
  return names;
}

std::string Unknown(const std::string& kind, const std::string& name,
                    const std::vector<std::string>& known) {
  const std::string nearest = NearestName(name, known);
  return absl::StrCat("there is no ", kind, " ", name,
                      nearest.empty()
                          ? "; docs/configuration.md has those there are"
                          : absl::StrCat("; did you mean ", nearest, "?"));
}

// In a cluster every container gets such variables for each Service.
bool IsFromKubernetes(const std::string& variable) {
  static const std::regex kTheirs(
      "MEMPLAN_SERVER_(SERVICE_HOST|SERVICE_PORT(_\\w+)?|PORT(_\\d+_\\w+)?)");
  return std::regex_match(variable, kTheirs);
}

bool IsQuantity(const SettingValue& value) {
  return value.form == "BYTES" || value.form == "DURATION";
}

// Why a value of the file cannot be the setting's, by its form alone.
std::string WrongForm(const Setting& setting, const FileSetting& given) {
  const TomlForm wanted = setting.value.toml;
  if (!given.wrong.empty()) return given.wrong;
  if (given.form == wanted) return "";
  switch (wanted) {
    case TomlForm::kString:
      return IsQuantity(setting.value) && given.form != TomlForm::kList
                 ? ""  // the reader says that the unit is missing
                 : "write a text in quotes";
    case TomlForm::kInteger:
      return "write a whole number without quotes";
    case TomlForm::kFloat:
      return given.form == TomlForm::kInteger ? ""
                                              : "write a number without quotes";
    case TomlForm::kBoolean:
      return "write true or false without quotes";
    case TomlForm::kList:
      return "write a list, such as [\"a\", \"b\"]";
  }
  return "";
}

// Fills `wrong` and the settings, one source after the other.
class Reader {
 public:
  Reader(std::vector<SettingGroup>& groups, std::vector<std::string>& wrong)
      : groups_(groups), wrong_(wrong) {}

  void ReadFile(const std::string& path) {
    const auto file = ReadSettingFile(path);
    if (!file.ok()) {
      wrong_.emplace_back(file.status().message());
      return;
    }
    for (const FileSetting& given : *file) {
      const std::string origin = absl::StrCat(path, ":", given.line);
      Setting* setting = Find(groups_, given.key);
      if (setting == nullptr) {
        Refuse(origin, Unknown("setting", given.key,
                               Names(groups_, [](const Setting& known) {
                                 return known.name;
                               })));
      } else if (const std::string form = WrongForm(*setting, given);
                 !form.empty()) {
        Refuse(absl::StrCat(origin, ": ", given.key), form);
      } else {
        Set(*setting, given.text, origin,
            absl::StrCat(origin, ": ", given.key));
      }
    }
  }

  void ReadVariables(
      const std::vector<std::pair<std::string, std::string>>& variables,
      const std::vector<std::string>& others) {
    std::vector<std::string> known = Names(groups_, VariableOf);
    known.insert(known.end(), others.begin(), others.end());
    for (const auto& [variable, text] : variables) {
      if (std::find(others.begin(), others.end(), variable) != others.end() ||
          IsFromKubernetes(variable)) {
        continue;
      }
      Setting* setting =
          Find(groups_,
               absl::AsciiStrToLower(variable.substr(kVariablePrefix.size())));
      if (setting == nullptr || VariableOf(*setting) != variable) {
        Refuse("the environment", Unknown("variable", variable, known));
      } else {
        Set(*setting, text, variable, variable);
      }
    }
  }

  void ReadFlags(const std::map<std::string, std::string>& flags) {
    for (const auto& [name, text] : flags) {
      Setting* setting = Find(groups_, name);
      if (setting == nullptr) continue;  // none of ours
      Set(*setting, text, FlagOf(*setting), FlagOf(*setting));
    }
  }

 private:
  void Set(Setting& setting, const std::string& text, const std::string& origin,
           const std::string& where) {
    const absl::Status read = setting.value.read(text);
    if (read.ok()) {
      setting.origin = origin;
    } else {
      Refuse(where, std::string(read.message()));
    }
  }

  void Refuse(const std::string& where, const std::string& why) {
    wrong_.push_back(absl::StrCat(where, ": ", why));
  }

  std::vector<SettingGroup>& groups_;
  std::vector<std::string>& wrong_;
};

}  // namespace

std::string FlagOf(const Setting& setting) {
  return absl::StrCat("--", absl::StrReplaceAll(setting.name, {{"_", "-"}}));
}

std::string VariableOf(const Setting& setting) {
  return absl::StrCat(kVariablePrefix, absl::AsciiStrToUpper(setting.name));
}

std::vector<std::string> ReadSettings(
    const SettingSources& sources,
    const std::vector<std::string>& other_variables,
    std::vector<SettingGroup>& groups) {
  std::vector<std::string> wrong;
  Reader reader(groups, wrong);
  if (!sources.file.empty()) reader.ReadFile(sources.file);
  reader.ReadVariables(sources.variables, other_variables);
  reader.ReadFlags(sources.flags);
  return wrong;
}

std::string WriteSettings(const std::vector<SettingGroup>& groups) {
  std::string text;
  for (const SettingGroup& group : groups) {
    absl::StrAppend(&text, "\n## ", group.title, "\n");
    for (const Setting& setting : group.settings) {
      absl::StrAppend(&text, "\n# ", setting.what, ".\n", setting.name, " = ",
                      WriteToml(setting.value.write(), setting.value.toml),
                      "  # ", setting.origin, "\n");
    }
  }
  return text;
}

}  // namespace memplan
