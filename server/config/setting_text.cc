#include "server/config/setting_text.h"

#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "planner/base/format.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

constexpr std::chrono::hours kDay{24};
constexpr int64_t kMostDays = 36500;

bool HasUnit(const std::string& text) {
  return !text.empty() && absl::ascii_isalpha(text.back());
}

absl::Status NoUnit(const std::string& text, const char* examples) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" has no unit; write ", examples));
}

}  // namespace

absl::StatusOr<Bytes> ReadBytesWithUnit(const std::string& text) {
  if (text == "0") return Bytes(0);
  int64_t number = 0;
  if (!HasUnit(text) && absl::SimpleAtoi(text, &number)) {
    return NoUnit(text, "64MiB, 10GiB or 500GB");
  }
  return ParseBytes(text);
}

std::string WriteBytes(Bytes amount) {
  constexpr std::array<std::pair<const char*, int64_t>, 4> kUnits = {
      {{"TiB", int64_t{1} << 40},
       {"GiB", int64_t{1} << 30},
       {"MiB", int64_t{1} << 20},
       {"KiB", int64_t{1} << 10}}};
  for (const auto& [unit, bytes] : kUnits) {
    if (amount.count() != 0 && amount.count() % bytes == 0) {
      return absl::StrCat(amount.count() / bytes, unit);
    }
  }
  return absl::StrCat(amount.count(), "B");
}

absl::StatusOr<std::chrono::milliseconds> ReadDuration(
    const std::string& text) {
  int64_t number = 0;
  absl::string_view days = text;
  if (absl::ConsumeSuffix(&days, "d") && absl::SimpleAtoi(days, &number) &&
      number >= 0 && number <= kMostDays) {
    return number * kDay;
  }
  double bare = 0;
  if (text != "0" && absl::SimpleAtod(text, &bare)) {
    return NoUnit(text, "250ms, 30s, 10m, 1h30m or 14d");
  }
  absl::Duration duration;
  if (!absl::ParseDuration(text, &duration) ||
      duration < absl::ZeroDuration() ||
      duration > absl::Hours(24) * kMostDays ||
      duration % absl::Milliseconds(1) != absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text,
                     "\" is no duration; write 250ms, 30s, 10m, "
                     "1h30m or 14d"));
  }
  return absl::ToChronoMilliseconds(duration);
}

std::string WriteDuration(std::chrono::milliseconds duration) {
  if (duration.count() != 0 && duration % kDay == duration.zero()) {
    return absl::StrCat(duration / kDay, "d");
  }
  return absl::FormatDuration(absl::FromChrono(duration));
}

absl::StatusOr<int64_t> ReadCount(const std::string& text) {
  int64_t count = 0;
  if (absl::SimpleAtoi(text, &count)) return count;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is no whole number"));
}

absl::StatusOr<double> ReadRatio(const std::string& text) {
  double ratio = 0;
  if (absl::SimpleAtod(text, &ratio)) return ratio;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is no number; write one such as 0.9"));
}

std::string WriteRatio(double ratio) {
  std::string text = absl::StrCat(ratio);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

absl::StatusOr<bool> ReadYesNo(const std::string& text) {
  if (text == "true" || text == "yes") return true;
  if (text == "false" || text == "no") return false;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is neither true nor false"));
}

}  // namespace memplan
