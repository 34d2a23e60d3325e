#include "client/cli/yaml.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"

namespace memplan {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kIndent = 2;  // columns a level

// Texts that YAML 1.1 or 1.2 reads as a boolean or as nothing.
constexpr std::array<std::string_view, 10> kReservedWords = {
    "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan"};

// True for a text that stays a text in every YAML reader without quotes.
bool IsPlain(const std::string& text) {
  if (text.empty() || !absl::ascii_isalpha(text.front())) return false;
  const bool harmless = std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.' ||
           c == '/';
  });
  const std::string word = absl::AsciiStrToLower(text);
  return harmless && std::find(kReservedWords.begin(), kReservedWords.end(),
                               word) == kReservedWords.end();
}

// How many bytes at `text[i]` are one character that YAML does not allow as
// itself or would fold as a line's end: DEL, U+0080 to U+009F, U+2028, U+2029.
size_t SpecialLength(std::string_view text, size_t i) {
  const auto byte = [&](size_t offset) {
    return i + offset < text.size()
               ? static_cast<unsigned char>(text[i + offset])
               : 0U;
  };
  if (byte(0) == 0x7f) return 1;
  if (byte(0) == 0xc2 && byte(1) < 0xa0) return 2;
  if (byte(0) == 0xe2 && byte(1) == 0x80 && (byte(2) | 1U) == 0xa9) return 3;
  return 0;
}

std::string Escaped(std::string_view character) {
  if (character.size() == 1) {
    return absl::StrFormat("\\x%02x", static_cast<unsigned char>(character[0]));
  }
  if (character.size() == 2) {
    return absl::StrFormat("\\x%02x", static_cast<unsigned char>(character[1]));
  }
  return static_cast<unsigned char>(character[2]) == 0xa8 ? "\\u2028"
                                                          : "\\u2029";
}

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const size_t special = SpecialLength(text, i);
    if (special > 0) {
      quoted += Escaped(std::string_view(text).substr(i, special));
      i += special;
      continue;
    }
    if (c == '"' || c == '\\') {
      quoted += std::string("\\") + c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += Escaped(std::string_view(text).substr(i, 1));
    } else {
      quoted += c;
    }
    ++i;
  }
  return quoted + "\"";
}

std::string Scalar(const Json& value) {
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    return IsPlain(text) ? text : Quoted(text);
  }
  return value.dump();  // numbers, booleans, null, {} and []
}

bool IsBlock(const Json& value) {
  return value.is_structured() && !value.empty();
}

void Write(const Json& value, int indent, std::string& out);

// What stands behind `key:` or `-`.
void WriteMember(const Json& value, int indent, std::string& out) {
  if (IsBlock(value)) {
    out += '\n';
    Write(value, indent + kIndent, out);
  } else {
    out += " " + Scalar(value) + "\n";
  }
}

// A block at `indent` columns.
void Write(const Json& value, int indent, std::string& out) {
  const std::string margin(indent, ' ');
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      out += margin + Scalar(key) + ":";
      WriteMember(member, indent, out);
    }
    return;
  }
  for (const Json& element : value) {
    if (!IsBlock(element)) {
      out += margin + "- " + Scalar(element) + "\n";
      continue;
    }
    // The element's first line stands behind the dash.
    std::string block;
    Write(element, indent + kIndent, block);
    out += margin + "- " + block.substr(indent + kIndent);
  }
}

}  // namespace

std::string ToYaml(const Json& json) {
  if (!IsBlock(json)) return Scalar(json) + "\n";
  std::string out;
  Write(json, 0, out);
  return out;
}

}  // namespace memplan
