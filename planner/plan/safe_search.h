// Finds where a row of candidates stops running, when asking is dear and the
// answers are not monotone: a larger batch may run where a smaller one fails.
//
//   candidate   … 118 119 120 121 122 123 124 125 …
//   runs          yes yes yes yes no  yes no  no        safe: 121, above it: 123
//
// Doubling and halving find one place where a candidate runs and the next fails;
// then every candidate near it is asked, until all for `reach` below the answer
// run, and those for `reach_above` above it. What lies farther below is taken on trust, but for those asked on the way.
#ifndef MEMPLAN_PLANNER_PLAN_SAFE_SEARCH_H_
#define MEMPLAN_PLANNER_PLAN_SAFE_SEARCH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace memplan {

struct SafeSearchOptions {
  int64_t first = 1;  // the candidates are first, first + 1, … last
  int64_t last = 1;
  int64_t start = 1;  // asked first; clamped
  int64_t reach = 64;
  std::optional<int64_t> reach_above = {};  // above the answer; none: as below
  // From the start to the second candidate asked, doubled from there on; 0: a
  // quarter of the start.
  int64_t first_distance = 0;
  // More than it takes unless holes lie within reach of each other for ever.
  int64_t max_asked = 4096;
};

struct SafeCandidates {
  // The largest that runs with all smaller ones; none: the first does not run.
  std::optional<int64_t> safe;
  std::vector<int64_t> running_above;  // larger ones that run, within reach
  std::vector<int64_t> holes;          // that fail, below the last of those
  int64_t checked_from = 0;            // all from here to checked_to were asked
  int64_t checked_to = 0;
  int64_t asked = 0;
};

// `runs` is asked once at most for each candidate; its error ends the search.
// kInvalidArgument if there is no candidate; kResourceExhausted after `max_asked`.
absl::StatusOr<SafeCandidates> FindSafe(
    const SafeSearchOptions& options,
    absl::FunctionRef<absl::StatusOr<bool>(int64_t)> runs);

// The same. `foresee` is told of candidates, from the first to the last, before
// all of them will be asked unless the search ends with an error; some may have
// been.
absl::StatusOr<SafeCandidates> FindSafe(
    const SafeSearchOptions& options,
    absl::FunctionRef<absl::StatusOr<bool>(int64_t)> runs,
    absl::FunctionRef<void(int64_t, int64_t)> foresee);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_SAFE_SEARCH_H_
