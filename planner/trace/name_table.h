// Names of phases, operators and types, each kept once and called by a small
// id: 0, 1, 2, … in the order in which they were first added.
#ifndef MEMPLAN_PLANNER_TRACE_NAME_TABLE_H_
#define MEMPLAN_PLANNER_TRACE_NAME_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "planner/trace/event.h"

namespace memplan {

// A value. Not thread-safe while names are added.
class NameTable {
 public:
  // The id of `name`, which is added if it is new.
  uint32_t Add(std::string_view name);

  // kNoId if there is no such name.
  uint32_t Find(std::string_view name) const;

  // Empty for kNoId and for ids that were never given.
  std::string_view Name(uint32_t id) const {
    return id < names_.size() ? std::string_view(names_[id])
                              : std::string_view();
  }

  size_t size() const { return names_.size(); }

  friend bool operator==(const NameTable& a, const NameTable& b) {
    return a.names_ == b.names_;
  }

 private:
  std::vector<std::string> names_;
  absl::flat_hash_map<std::string, uint32_t> ids_;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_NAME_TABLE_H_
