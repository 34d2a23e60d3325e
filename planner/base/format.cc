#include "planner/base/format.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace memplan {
namespace {

constexpr int64_t kMaxAmount = int64_t{1} << 60;

struct Unit {
  std::string_view name;
  int64_t bytes;
};

constexpr std::array<Unit, 11> kReadUnits = {{
    {"", 1},
    {"B", 1},
    {"KiB", int64_t{1} << 10},
    {"MiB", int64_t{1} << 20},
    {"GiB", int64_t{1} << 30},
    {"TiB", int64_t{1} << 40},
    {"kB", 1'000},
    {"KB", 1'000},
    {"MB", 1'000'000},
    {"GB", 1'000'000'000},
    {"TB", 1'000'000'000'000},
}};

constexpr std::array<const char*, 6> kWrittenUnits = {"KiB", "MiB", "GiB",
                                                      "TiB", "PiB", "EiB"};

// `value` with three significant digits, more only left of the point.
std::string ThreeDigits(double value) {
  if (value < 9.995) return absl::StrFormat("%.2f", value);
  if (value < 99.95) return absl::StrFormat("%.1f", value);
  return absl::StrFormat("%.0f", value);
}

absl::Status NotAnAmount(std::string_view text) {
  constexpr size_t kShown = 40;
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", absl::CHexEscape(std::string(text.substr(0, kShown))),
      text.size() > kShown ? "…" : "",
      "\" is no amount of memory; write a number and a unit (B, KiB, MiB, GiB, "
      "TiB, kB, MB, GB, TB), such as 16GiB or 1.5GB, at most ",
      FormatBytes(Bytes(kMaxAmount))));
}

// Takes the digits at the start of `text` off it.
std::string_view TakeDigits(std::string_view& text) {
  size_t count = 0;
  while (count < text.size() && absl::ascii_isdigit(text[count])) ++count;
  std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

// The value of `digits`, or one above kMaxAmount if it is larger than that.
int64_t WholeValue(std::string_view digits) {
  int64_t value = 0;
  for (char digit : digits) {
    if (value > kMaxAmount / 10) return kMaxAmount + 1;
    value = value * 10 + (digit - '0');
  }
  return value;
}

// ⌊0.digits × unit⌋. Going from the last digit to the first, rounding down at
// each gives what rounding down once at the end would.
int64_t FractionOf(std::string_view digits, int64_t unit) {
  int64_t value = 0;
  for (size_t i = digits.size(); i > 0; --i) {
    value = (value + (digits[i - 1] - '0') * unit) / 10;
  }
  return value;
}

}  // namespace

std::string FormatBytes(Bytes amount) {
  const bool negative = amount.count() < 0;
  const uint64_t magnitude = negative
                                 ? 0 - static_cast<uint64_t>(amount.count())
                                 : static_cast<uint64_t>(amount.count());
  const char* sign = negative ? "-" : "";
  if (magnitude < 1024) return absl::StrCat(sign, magnitude, " B");
  double value = static_cast<double>(magnitude) / 1024;
  size_t unit = 0;
  // 1023.5 would print as 1024, so it counts as the next unit's 1.
  while (value >= 1023.5 && unit + 1 < kWrittenUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return absl::StrCat(sign, ThreeDigits(value), " ", kWrittenUnits[unit]);
}

absl::StatusOr<Bytes> ParseBytes(std::string_view text) {
  std::string_view rest = text;
  const std::string_view whole = TakeDigits(rest);
  if (whole.empty()) return NotAnAmount(text);
  std::string_view fraction;
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    fraction = TakeDigits(rest);
    if (fraction.empty()) return NotAnAmount(text);
  }
  if (rest.size() > 1 && rest.front() == ' ') rest.remove_prefix(1);
  const auto* unit =
      std::find_if(kReadUnits.begin(), kReadUnits.end(),
                   [&](const Unit& known) { return known.name == rest; });
  if (unit == kReadUnits.end()) return NotAnAmount(text);
  const int64_t count = WholeValue(whole);
  if (count > kMaxAmount / unit->bytes) return NotAnAmount(text);
  const int64_t bytes = count * unit->bytes + FractionOf(fraction, unit->bytes);
  if (bytes > kMaxAmount) return NotAnAmount(text);
  return Bytes(bytes);
}

std::ostream& operator<<(std::ostream& out, Bytes amount) {
  return out << FormatBytes(amount) << " (" << amount.count() << " B)";
}

}  // namespace memplan
