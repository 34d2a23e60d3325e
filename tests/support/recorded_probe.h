// A fast probe that was recorded on a card (tests/traces/fast), as values: the
// traces of its trials and what its operators did alone.
#ifndef MEMPLAN_TESTS_SUPPORT_RECORDED_PROBE_H_
#define MEMPLAN_TESTS_SUPPORT_RECORDED_PROBE_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "planner/plan/known_calls.h"
#include "planner/trace/irregular_calls.h"
#include "planner/trace/trace.h"

namespace memplan::testing {

struct RecordedProbe {
  std::map<int64_t, Trace> traces;  // by batch
  // What each distinct call did, by CallKey.
  absl::flat_hash_map<std::string, CallPlansOrNone> calls;
};

// The folder `name` of tests/traces/fast. Ends the program, with the reason, if a
// file of it cannot be read.
RecordedProbe ReadRecordedProbe(const std::string& name);

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SUPPORT_RECORDED_PROBE_H_
