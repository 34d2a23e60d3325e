#include "planner/plan/text_scanner.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace memplan {
namespace {

// How much of a long text an error shows on each side of the column.
constexpr size_t kShownBefore = 60;
constexpr size_t kShownAfter = 20;

size_t DigitsAt(std::string_view text, size_t start) {
  size_t end = start;
  while (end < text.size() && absl::ascii_isdigit(text[end])) ++end;
  return end - start;
}

bool IsNameStart(char c) { return absl::ascii_isalpha(c) || c == '_'; }

// The part of `text` around `position`, one printable character a byte.
std::string Excerpt(std::string_view text, size_t begin, size_t position) {
  std::string shown(text.substr(begin, position - begin + kShownAfter));
  for (char& c : shown) {
    if (!absl::ascii_isprint(c)) c = '?';
  }
  return shown;
}

}  // namespace

void TextScanner::SkipSpaces() {
  while (!AtEnd() && text_[position_] == ' ') ++position_;
}

bool TextScanner::Take(std::string_view literal) {
  if (!Rest().starts_with(literal)) return false;
  position_ += literal.size();
  return true;
}

std::string_view TextScanner::TakeLength(size_t length) {
  const std::string_view taken = Rest().substr(0, length);
  position_ += taken.size();
  return taken;
}

std::string_view TextScanner::TakeDigits() {
  return TakeLength(DigitsAt(Rest(), 0));
}

std::string_view TextScanner::TakeName() {
  const std::string_view rest = Rest();
  if (rest.empty() || !IsNameStart(rest.front())) return "";
  size_t length = 1;
  while (length < rest.size() &&
         (IsNameStart(rest[length]) || absl::ascii_isdigit(rest[length]))) {
    ++length;
  }
  return TakeLength(length);
}

std::string_view TextScanner::TakeNumber() {
  const std::string_view rest = Rest();
  const auto at = [&](size_t i) { return i < rest.size() ? rest[i] : '\0'; };
  size_t length = at(0) == '-' ? 1 : 0;
  const size_t digits = DigitsAt(rest, length);
  if (digits == 0) return "";
  length += digits;
  if (at(length) == '.') {
    const size_t fraction = DigitsAt(rest, length + 1);
    if (fraction > 0) length += 1 + fraction;
  }
  if (at(length) == 'e' || at(length) == 'E') {
    const size_t sign = at(length + 1) == '-' || at(length + 1) == '+' ? 1 : 0;
    const size_t exponent = DigitsAt(rest, length + 1 + sign);
    if (exponent > 0) length += 1 + sign + exponent;
  }
  return TakeLength(length);
}

absl::Status TextScanner::Error(std::string_view what) const {
  return ErrorAt(position_, what);
}

absl::Status TextScanner::ErrorAt(size_t position,
                                  std::string_view what) const {
  const size_t begin = position > kShownBefore ? position - kShownBefore : 0;
  return absl::InvalidArgumentError(
      absl::StrCat("column ", position + 1, ": ", std::string(what), "\n  ",
                   Excerpt(text_, begin, position), "\n  ",
                   std::string(position - begin, ' '), "^"));
}

}  // namespace memplan
