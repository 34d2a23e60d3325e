// TrimmedMessage: what strangers wrote, made safe to keep and to show.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cuda/worker/messages/messages.h"

namespace memplan::gpu {
namespace {

constexpr std::string_view kCut = "…";

uint8_t ByteAt(std::string_view text, size_t i) {
  return i < text.size() ? static_cast<uint8_t>(text[i]) : 0;
}

// Bytes of the UTF-8 character at the start of `text`; 0 if there is none: an
// odd or missing continuation, an overlong form, a surrogate, above U+10FFFF.
size_t CharacterLength(std::string_view text) {
  const uint8_t first = ByteAt(text, 0);
  const uint8_t second = ByteAt(text, 1);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  if (first == 0xe0 && second < 0xa0) return 0;
  if (first == 0xed && second > 0x9f) return 0;
  if (first == 0xf0 && second < 0x90) return 0;
  if (first == 0xf4 && second > 0x8f) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((ByteAt(text, i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

bool IsControl(std::string_view character) {
  const uint8_t first = ByteAt(character, 0);
  if (first == 0xc2) return ByteAt(character, 1) < 0xa0;  // U+0080 … U+009F
  return first < 0x20 || first == 0x7f;
}

// What stands for the character (or the broken byte) `shown` in a message.
std::string_view Cleaned(std::string_view character, bool broken) {
  if (broken) return "?";
  if (character == "\n" || !IsControl(character)) return character;
  return character == "\t" ? " " : "";
}

}  // namespace

std::string TrimmedMessage(std::string_view text) {
  std::string trimmed;
  size_t fitting = 0;  // length of `trimmed` to which … could be added
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    const std::string_view character =
        text.substr(0, std::max<size_t>(length, 1));
    text.remove_prefix(character.size());
    trimmed += Cleaned(character, length == 0);
    if (trimmed.size() > kMaxMessageBytes) {
      trimmed.resize(fitting);
      return trimmed.append(kCut);
    }
    if (trimmed.size() + kCut.size() <= kMaxMessageBytes) {
      fitting = trimmed.size();
    }
  }
  return trimmed;
}

}  // namespace memplan::gpu
