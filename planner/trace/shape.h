// The sizes that a run was made with, by name: {batch: 32}, or
// {batch: 8, length: 256}. What laws of sizes are laws of.
#ifndef MEMPLAN_PLANNER_TRACE_SHAPE_H_
#define MEMPLAN_PLANNER_TRACE_SHAPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace memplan {

struct ShapeDimension {
  std::string name;
  int64_t value = 0;  // at least 1
  friend bool operator==(const ShapeDimension&,
                         const ShapeDimension&) = default;
};

using Shape = std::vector<ShapeDimension>;

// The largest value of a dimension: products of two stay far below 2^63.
inline constexpr int64_t kMaxShapeDimension = int64_t{1} << 30;

// `batch 32`, `batch 8, length 256`.
inline std::string ShapeText(const Shape& shape) {
  return absl::StrJoin(shape, ", ",
                       [](std::string* out, const ShapeDimension& d) {
                         absl::StrAppend(out, d.name, " ", d.value);
                       });
}

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_SHAPE_H_
