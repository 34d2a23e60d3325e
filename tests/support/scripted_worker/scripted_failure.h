// An error that a situation of the scripted worker throws, judged by the evidence
// of its script as the real worker judges its own:
//
//   throws: WORDS                 in the first step
//   is refused and throws: WORDS  likewise, after the allocator refused a request
//   fails to load: WORDS          before it; the only one of these that `prepare`
//                                 meets
#ifndef MEMPLAN_TESTS_SUPPORT_SCRIPTED_WORKER_SCRIPTED_FAILURE_H_
#define MEMPLAN_TESTS_SUPPORT_SCRIPTED_WORKER_SCRIPTED_FAILURE_H_

#include <optional>
#include <string_view>

#include "cuda/worker/messages/messages.h"
#include "planner/base/bytes.h"
#include "tests/support/scripted_worker/script.h"

namespace memplan::testing {

// Fills the end of `report` if `situation` fails the load. Returns whether it
// does.
bool FailLoad(const Script& script, std::string_view situation,
              gpu::Report& report);

// The same for a step, which holds `allocated`. The step itself is not added.
bool FailStep(const Script& script, std::string_view situation, Bytes allocated,
              gpu::Report& report);

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SUPPORT_SCRIPTED_WORKER_SCRIPTED_FAILURE_H_
