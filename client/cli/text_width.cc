#include "client/cli/text_width.h"

#include <algorithm>
#include <cstddef>

namespace memplan {
namespace {

// True for every byte of a UTF-8 character but its first.
bool IsContinuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

}  // namespace

int TextWidth(std::string_view text) {
  return static_cast<int>(std::count_if(
      text.begin(), text.end(), [](char c) { return !IsContinuation(c); }));
}

std::string CutToWidth(std::string_view text, int width) {
  int columns = 0;
  size_t end = 0;
  while (end < text.size() && (IsContinuation(text[end]) || columns < width)) {
    if (!IsContinuation(text[end])) ++columns;
    ++end;
  }
  return std::string(text.substr(0, end));
}

}  // namespace memplan
