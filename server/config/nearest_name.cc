#include "server/config/nearest_name.h"

#include <algorithm>
#include <numeric>

namespace memplan {
namespace {

// One row of the table of distances at a time: of a beginning of `a` to each
// beginning of `b`.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string NearestName(std::string_view typed,
                        const std::vector<std::string>& names) {
  std::string nearest;
  size_t fewest = (typed.size() + 1) / 3 + 1;
  for (const std::string& name : names) {
    const size_t edits = EditDistance(typed, name);
    if (edits >= fewest) continue;
    fewest = edits;
    nearest = name;
  }
  return nearest;
}

}  // namespace memplan
