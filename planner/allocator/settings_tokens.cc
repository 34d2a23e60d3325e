#include "planner/allocator/settings_tokens.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

absl::Status Unfit(std::string_view of, std::string_view wanted,
                   const std::string& token) {
  constexpr size_t kShown = 40;
  return absl::InvalidArgumentError(absl::StrCat(
      std::string(of), ": expected ", std::string(wanted), ", found \"",
      absl::CHexEscape(token.substr(0, kShown)), "\""));
}

}  // namespace

SettingsTokens::SettingsTokens(std::string_view text) {
  constexpr std::string_view kSigns = ",:[]";
  std::string word;
  const auto finish_word = [&] {
    if (!word.empty()) tokens_.push_back(word);
    word.clear();
  };
  for (const char c : text) {
    if (kSigns.find(c) != std::string_view::npos) {
      finish_word();
      tokens_.emplace_back(1, c);
    } else if (!absl::ascii_isspace(static_cast<unsigned char>(c))) {
      word += c;
    }
  }
  finish_word();
}

absl::StatusOr<std::string> SettingsTokens::ReadWord(std::string_view of) {
  if (AtEnd()) {
    return absl::InvalidArgumentError(absl::StrCat(
        std::string(of), ": the text ends where its value should be; write ",
        std::string(of), ":VALUE"));
  }
  return tokens_[next_++];
}

absl::StatusOr<uint64_t> SettingsTokens::ReadNumber(std::string_view of) {
  MEMPLAN_ASSIGN_OR_RETURN(const std::string token, ReadWord(of));
  std::string_view digits = token;
  const bool is_negative = digits.starts_with('-');
  if (is_negative || digits.starts_with('+')) digits.remove_prefix(1);
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::invalid_argument) {
    return Unfit(of, "a whole number", token);
  }
  if (error != std::errc()) return Unfit(of, "a number below 2^64", token);
  return is_negative ? 0 - value : value;
}

absl::StatusOr<double> SettingsTokens::ReadReal(std::string_view of) {
  MEMPLAN_ASSIGN_OR_RETURN(const std::string token, ReadWord(of));
  char* end = nullptr;
  const double value = std::strtod(token.c_str(), &end);
  if (end == token.c_str()) return Unfit(of, "a number", token);
  return value;
}

absl::StatusOr<bool> SettingsTokens::ReadBoolean(std::string_view of) {
  MEMPLAN_ASSIGN_OR_RETURN(const std::string token, ReadWord(of));
  if (token != "True" && token != "False") {
    return Unfit(of, "True or False", token);
  }
  return token == "True";
}

}  // namespace memplan
