#include "server/config/setting_file.h"

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "planner/base/status_macros.h"
#include "server/config/setting_text.h"

namespace memplan {
namespace {

absl::StatusOr<std::string> ReadWhole(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  // Of a folder the first read fails.
  if (!file || (text.str().empty() && errno != 0)) {
    return absl::ErrnoToStatus(errno == 0 ? EIO : errno,
                               absl::StrCat("cannot read ", path));
  }
  return text.str();
}

void ReadList(const toml::array& array, FileSetting& setting) {
  setting.form = TomlForm::kList;
  std::vector<std::string> texts;
  for (const toml::node& node : array) {
    const auto text = node.value<std::string>();
    if (!node.is_string() || !text || text->find(',') != std::string::npos) {
      setting.wrong = "a list takes texts without commas";
      return;
    }
    texts.push_back(*text);
  }
  setting.text = absl::StrJoin(texts, ",");
}

FileSetting ReadSetting(std::string key, const toml::node& node) {
  FileSetting setting;
  setting.key = std::move(key);
  setting.line = static_cast<int>(node.source().begin.line);
  if (const auto* text = node.as_string()) {
    setting.text = text->get();
  } else if (const auto* integer = node.as_integer()) {
    setting.form = TomlForm::kInteger;
    setting.text = absl::StrCat(integer->get());
  } else if (const auto* number = node.as_floating_point()) {
    setting.form = TomlForm::kFloat;
    setting.text = WriteRatio(number->get());
  } else if (const auto* yes = node.as_boolean()) {
    setting.form = TomlForm::kBoolean;
    setting.text = yes->get() ? "true" : "false";
  } else if (const auto* list = node.as_array()) {
    ReadList(*list, setting);
  } else {
    setting.wrong = node.is_table() ? "tables are not used; all keys stand at "
                                      "the top level"
                                    : "dates are not used";
  }
  return setting;
}

// A basic string: quotes, backslashes and control characters escaped.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      absl::StrAppend(&quoted, "\\", std::string(1, c));
    } else if (byte < 0x20 || byte == 0x7f) {
      absl::StrAppend(&quoted, "\\u", absl::Hex(byte, absl::kZeroPad4));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace

absl::StatusOr<std::vector<FileSetting>> ReadSettingFile(
    const std::string& path) {
  MEMPLAN_ASSIGN_OR_RETURN(const std::string text, ReadWhole(path));
  const toml::parse_result parsed = toml::parse(text, path);
  if (!parsed) {
    const toml::source_position where = parsed.error().source().begin;
    return absl::InvalidArgumentError(
        absl::StrCat(path, ":", where.line, ":", where.column, ": ",
                     std::string(parsed.error().description())));
  }
  std::vector<FileSetting> settings;
  for (const auto& [key, node] : parsed.table()) {
    settings.push_back(ReadSetting(std::string(key.str()), node));
  }
  std::stable_sort(settings.begin(), settings.end(),
                   [](const FileSetting& a, const FileSetting& b) {
                     return a.line < b.line;
                   });
  return settings;
}

std::string WriteToml(const std::string& value, TomlForm form) {
  switch (form) {
    case TomlForm::kString:
      return Quoted(value);
    case TomlForm::kList: {
      const std::vector<std::string> texts =
          absl::StrSplit(value, ',', absl::SkipEmpty());
      return absl::StrCat(
          "[",
          absl::StrJoin(texts, ", ",
                        [](std::string* out, const std::string& text) {
                          absl::StrAppend(out, Quoted(text));
                        }),
          "]");
    }
    default:
      return value;
  }
}

}  // namespace memplan
