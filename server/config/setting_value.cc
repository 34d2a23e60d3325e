#include "server/config/setting_value.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "planner/base/status_macros.h"
#include "server/config/setting_text.h"

namespace memplan {
namespace {

constexpr const char* kNone = "none";

absl::Status OutOfRange(const std::string& text, const std::string& least,
                        const std::string& most) {
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is out of range; it takes ", least, " to ", most));
}

// A quantity: `reader` and `writer` say how it is written.
template <typename Quantity, typename Range, typename Reader, typename Writer>
SettingValue InRange(Range range, Reader reader, Writer writer,
                     const std::function<void(Quantity)>& set,
                     const std::function<Quantity()>& get) {
  SettingValue value;
  value.read = [=](const std::string& text) -> absl::Status {
    MEMPLAN_ASSIGN_OR_RETURN(const Quantity read, reader(text));
    if (read < range.least || read > range.most) {
      return OutOfRange(text, writer(range.least), writer(range.most));
    }
    set(read);
    return absl::OkStatus();
  };
  value.write = [=] { return writer(get()); };
  value.unit = absl::StrCat(writer(range.least), " to ", writer(range.most));
  return value;
}

SettingValue AnyBytes(BytesRange range, const std::function<void(Bytes)>& set,
                      const std::function<Bytes()>& get) {
  SettingValue value =
      InRange<Bytes>(range, ReadBytesWithUnit, WriteBytes, set, get);
  value.form = "BYTES";
  value.unit = absl::StrCat("bytes with a unit, ", value.unit);
  return value;
}

SettingValue AnyDuration(
    DurationRange range,
    const std::function<void(std::chrono::milliseconds)>& set,
    const std::function<std::chrono::milliseconds()>& get) {
  SettingValue value = InRange<std::chrono::milliseconds>(
      range, ReadDuration, WriteDuration, set, get);
  value.form = "DURATION";
  value.unit = absl::StrCat("time with a unit, ", value.unit);
  return value;
}

SettingValue AnyCount(CountRange range, const std::function<void(int64_t)>& set,
                      const std::function<int64_t()>& get) {
  SettingValue value = InRange<int64_t>(
      range, ReadCount, [](int64_t count) { return absl::StrCat(count); }, set,
      get);
  value.form = "COUNT";
  value.unit = absl::StrCat("count, ", value.unit);
  value.toml = TomlForm::kInteger;
  return value;
}

SettingValue OrNone(const std::string& form, std::string& target) {
  SettingValue value;
  value.form = absl::StrCat(form, "|none");
  value.read = [&target](const std::string& text) -> absl::Status {
    if (text.empty()) {
      return absl::InvalidArgumentError(
          "the value is empty; write none for none");
    }
    target = text == kNone ? "" : text;
    return absl::OkStatus();
  };
  value.write = [&target] { return target.empty() ? kNone : target; };
  return value;
}

}  // namespace

SettingValue TextValue(std::string& target) {
  SettingValue value;
  value.form = "TEXT";
  value.unit = "text";
  value.read = [&target](const std::string& text) {
    target = text;
    return absl::OkStatus();
  };
  value.write = [&target] { return target; };
  return value;
}

SettingValue PathValue(std::string& target) {
  SettingValue value = TextValue(target);
  value.form = "PATH";
  value.unit = "path";
  value.read = [&target](const std::string& text) -> absl::Status {
    if (text.empty()) return absl::InvalidArgumentError("the path is empty");
    if (text.find('\0') != std::string::npos) {
      return absl::InvalidArgumentError("the path has a zero byte in it");
    }
    target = text;
    return absl::OkStatus();
  };
  return value;
}

SettingValue PathOrNone(std::string& target) {
  SettingValue value = OrNone("PATH", target);
  value.unit = "path, or `none`";
  return value;
}

SettingValue NameOrNone(std::string& target) {
  SettingValue value = OrNone("NAME", target);
  value.unit = "name, or `none`";
  return value;
}

SettingValue BytesValue(Bytes& target, BytesRange range) {
  return AnyBytes(
      range, [&target](Bytes read) { target = read; },
      [&target] { return target; });
}

SettingValue BytesValue(int64_t& target, BytesRange range) {
  return AnyBytes(
      range, [&target](Bytes read) { target = read.count(); },
      [&target] { return Bytes(target); });
}

SettingValue DurationValue(std::chrono::milliseconds& target,
                           DurationRange range) {
  return AnyDuration(
      range, [&target](std::chrono::milliseconds read) { target = read; },
      [&target] { return target; });
}

SettingValue DurationValue(std::chrono::seconds& target, DurationRange range) {
  return AnyDuration(
      range,
      [&target](std::chrono::milliseconds read) {
        target = std::chrono::ceil<std::chrono::seconds>(read);
      },
      [&target] { return target; });
}

SettingValue CountValue(int64_t& target, CountRange range) {
  return AnyCount(
      range, [&target](int64_t read) { target = read; },
      [&target] { return target; });
}

SettingValue CountValue(int& target, CountRange range) {
  return AnyCount(
      range, [&target](int64_t read) { target = static_cast<int>(read); },
      [&target] { return target; });
}

SettingValue RatioValue(double& target, RatioRange range) {
  SettingValue value = InRange<double>(
      range, ReadRatio, WriteRatio, [&target](double read) { target = read; },
      [&target] { return target; });
  value.form = "RATIO";
  value.unit = absl::StrCat("ratio, ", value.unit);
  value.toml = TomlForm::kFloat;
  return value;
}

SettingValue YesNoValue(bool& target) {
  SettingValue value;
  value.form = "BOOLEAN";
  value.unit = "`true` or `false`";
  value.toml = TomlForm::kBoolean;
  value.read = [&target](const std::string& text) -> absl::Status {
    MEMPLAN_ASSIGN_OR_RETURN(target, ReadYesNo(text));
    return absl::OkStatus();
  };
  value.write = [&target] { return target ? "true" : "false"; };
  return value;
}

SettingValue ListValue(std::vector<std::string>& target) {
  SettingValue value;
  value.form = "LIST";
  value.unit = "texts; commas between them in a flag or variable";
  value.toml = TomlForm::kList;
  value.read = [&target](const std::string& text) {
    target = absl::StrSplit(text, ',', absl::SkipWhitespace());
    return absl::OkStatus();
  };
  value.write = [&target] { return absl::StrJoin(target, ","); };
  return value;
}

SettingValue WordValue(const std::vector<std::string>& words,
                       std::function<void(size_t)> set,
                       std::function<size_t()> get) {
  SettingValue value;
  value.form = absl::StrJoin(words, "|");
  value.unit = absl::StrCat("`", absl::StrJoin(words, "`, `"), "`");
  value.read = [words,
                set = std::move(set)](const std::string& text) -> absl::Status {
    const auto word = std::find(words.begin(), words.end(), text);
    if (word == words.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", text, "\" is none of ", absl::StrJoin(words, ", ")));
    }
    set(static_cast<size_t>(word - words.begin()));
    return absl::OkStatus();
  };
  value.write = [words, get = std::move(get)] { return words[get()]; };
  return value;
}

}  // namespace memplan
