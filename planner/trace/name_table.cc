#include "planner/trace/name_table.h"

#include <cstdint>
#include <string_view>

#include "absl/strings/string_view.h"

namespace memplan {
namespace {

// Abseil's own type, where it is one, for its tables to look up without a copy.
absl::string_view Key(std::string_view name) {
  return {name.data(), name.size()};
}

}  // namespace

uint32_t NameTable::Add(std::string_view name) {
  const auto [entry, is_new] =
      ids_.try_emplace(Key(name), static_cast<uint32_t>(names_.size()));
  if (is_new) names_.emplace_back(name);
  return entry->second;
}

uint32_t NameTable::Find(std::string_view name) const {
  const auto entry = ids_.find(Key(name));
  return entry == ids_.end() ? kNoId : entry->second;
}

}  // namespace memplan
