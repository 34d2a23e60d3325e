// How wide UTF-8 text is on a terminal, counting one column a character: true for
// all that memplan writes itself, near enough for names that users chose.
#ifndef MEMPLAN_CLIENT_CLI_TEXT_WIDTH_H_
#define MEMPLAN_CLIENT_CLI_TEXT_WIDTH_H_

#include <string>
#include <string_view>

namespace memplan {

int TextWidth(std::string_view text);

// The longest beginning of `text` that is at most `width` columns.
std::string CutToWidth(std::string_view text, int width);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_TEXT_WIDTH_H_
