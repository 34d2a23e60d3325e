// What the parser of input specs knows of each number type.
#ifndef MEMPLAN_PLANNER_PLAN_DTYPE_TABLE_H_
#define MEMPLAN_PLANNER_PLAN_DTYPE_TABLE_H_

#include <optional>
#include <string_view>

#include "planner/plan/input_spec.h"

namespace memplan {

struct DTypeTraits {
  const char* name;
  bool is_floating;
  // The smallest and largest value a uniform fill may produce.
  double lowest;
  double highest;
};

const DTypeTraits& TraitsOf(DType dtype);

// Unset if there is no such type.
std::optional<DType> DTypeNamed(std::string_view name);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_DTYPE_TABLE_H_
