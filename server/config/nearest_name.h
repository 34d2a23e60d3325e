// What somebody who mistyped a name may have meant. Pure.
#ifndef MEMPLAN_SERVER_CONFIG_NEAREST_NAME_H_
#define MEMPLAN_SERVER_CONFIG_NEAREST_NAME_H_

#include <string>
#include <string_view>
#include <vector>

namespace memplan {

// The name that the fewest edits (a character more, less or another) make of
// `typed`, the first of several; empty if that takes more edits than about a third of it.
std::string NearestName(std::string_view typed,
                        const std::vector<std::string>& names);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONFIG_NEAREST_NAME_H_
