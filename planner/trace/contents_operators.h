// Operators whose outputs are as large as the contents of their inputs have it,
// whatever the shapes.
#ifndef MEMPLAN_PLANNER_TRACE_CONTENTS_OPERATORS_H_
#define MEMPLAN_PLANNER_TRACE_CONTENTS_OPERATORS_H_

#include <string_view>

namespace memplan {

// By the operator's name, as traces have it, and that of the operator that it runs
// in; empty for none. Indexing with a mask is told by the nonzero within it.
bool SizeDependsOnContents(std::string_view operator_name,
                           std::string_view within);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_CONTENTS_OPERATORS_H_
