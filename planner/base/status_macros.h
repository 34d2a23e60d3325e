// Short ways to pass an error on, with the meaning they have elsewhere in the
// field, until the packaged Abseil brings its own.
#ifndef MEMPLAN_PLANNER_BASE_STATUS_MACROS_H_
#define MEMPLAN_PLANNER_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns the status of `expression` from the function unless it is OK.
#define MEMPLAN_RETURN_IF_ERROR(expression)                                 \
  do {                                                                      \
    if (absl::Status memplan_status = (expression); !memplan_status.ok()) { \
      return memplan_status;                                                \
    }                                                                       \
  } while (false)

// Evaluates `expression` (a StatusOr); returns its status, or assigns its value
// to `target`, which may declare a variable.
#define MEMPLAN_ASSIGN_OR_RETURN(target, expression) \
  MEMPLAN_ASSIGN_OR_RETURN_IMPL(                     \
      MEMPLAN_MACRO_CONCAT(memplan_status_or_, __LINE__), target, expression)
#define MEMPLAN_ASSIGN_OR_RETURN_IMPL(value, target, expression) \
  auto value = (expression);                                     \
  if (!value.ok()) return value.status();                        \
  target = *std::move(value)
#define MEMPLAN_MACRO_CONCAT(a, b) MEMPLAN_MACRO_CONCAT_IMPL(a, b)
#define MEMPLAN_MACRO_CONCAT_IMPL(a, b) a##b

#endif  // MEMPLAN_PLANNER_BASE_STATUS_MACROS_H_
