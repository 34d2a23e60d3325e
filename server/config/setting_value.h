// Where the value of a setting goes and how it is written. Each function binds a
// variable of the program's options, whose value then is the default; it must
// outlive what is returned.
#ifndef MEMPLAN_SERVER_CONFIG_SETTING_VALUE_H_
#define MEMPLAN_SERVER_CONFIG_SETTING_VALUE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "planner/base/bytes.h"

namespace memplan {

// How TOML has a value: all but numbers, yes/no and lists are strings.
enum class TomlForm { kString, kInteger, kFloat, kBoolean, kList };

struct SettingValue {
  std::string form;  // for --help: PATH, BYTES …
  std::string unit;  // for people: what may be written, with the range
  TomlForm toml = TomlForm::kString;
  // Sets the variable. Returns kInvalidArgument, with what would be accepted,
  // and leaves the variable as it is, if the text is no such value.
  std::function<absl::Status(const std::string&)> read;
  // The variable as text that `read` takes.
  std::function<std::string()> write;
};

// Any text, also none.
SettingValue TextValue(std::string& target);
// A path; not empty.
SettingValue PathValue(std::string& target);
// A path, or `none`, which leaves the variable empty.
SettingValue PathOrNone(std::string& target);
// A name of the system's (a user, a group), or `none`, which leaves the variable
// empty.
SettingValue NameOrNone(std::string& target);

struct BytesRange {
  Bytes least = Bytes(0);
  Bytes most = Bytes(int64_t{1} << 60);
};
SettingValue BytesValue(Bytes& target, BytesRange range = {});
SettingValue BytesValue(int64_t& target, BytesRange range = {});

struct DurationRange {
  std::chrono::milliseconds least{0};
  std::chrono::milliseconds most = std::chrono::hours(24 * 365);
};
SettingValue DurationValue(std::chrono::milliseconds& target,
                           DurationRange range = {});
SettingValue DurationValue(std::chrono::seconds& target,
                           DurationRange range = {});

struct CountRange {
  int64_t least = 0;
  int64_t most = 1'000'000'000;
};
SettingValue CountValue(int64_t& target, CountRange range = {});
SettingValue CountValue(int& target, CountRange range = {});

struct RatioRange {
  double least = 0;
  double most = 1;
};
SettingValue RatioValue(double& target, RatioRange range = {});

// Its flag needs no value: it means yes.
SettingValue YesNoValue(bool& target);

// Texts without commas; commas part them where there is one text for all.
SettingValue ListValue(std::vector<std::string>& target);

// One of `words`, each with its meaning.
template <typename Meaning>
SettingValue ChoiceValue(Meaning& target,
                         std::vector<std::pair<std::string, Meaning>> words);

// As ChoiceValue, for the place of a word among `words`.
SettingValue WordValue(const std::vector<std::string>& words,
                       std::function<void(size_t)> set,
                       std::function<size_t()> get);

template <typename Meaning>
SettingValue ChoiceValue(Meaning& target,
                         std::vector<std::pair<std::string, Meaning>> words) {
  std::vector<std::string> texts;
  std::vector<Meaning> meanings;
  for (auto& [text, meaning] : words) {
    texts.push_back(text);
    meanings.push_back(meaning);
  }
  return WordValue(
      texts, [&target, meanings](size_t place) { target = meanings[place]; },
      [&target, meanings] {
        size_t place = 0;
        while (meanings[place] != target) ++place;
        return place;
      });
}

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONFIG_SETTING_VALUE_H_
