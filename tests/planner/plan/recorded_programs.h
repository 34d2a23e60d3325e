// The recorded traces of tests/traces by program (model and mode) and batch, each
// read once for all tests of a process.
#ifndef MEMPLAN_TESTS_PLANNER_PLAN_RECORDED_PROGRAMS_H_
#define MEMPLAN_TESTS_PLANNER_PLAN_RECORDED_PROGRAMS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "planner/trace/shape.h"
#include "planner/trace/symbolic_trace.h"
#include "planner/trace/trace.h"
#include "tests/support/recorded_traces.h"

namespace memplan::testing {

struct RecordedRun {
  RecordedTrace recorded;
  Trace trace;
};

struct RecordedProgram {
  std::string name;                     // resnet50-adam_amp
  std::map<int64_t, RecordedRun> runs;  // by batch
};

inline Shape BatchShape(int64_t batch) { return {{"batch", batch}}; }

// All twelve of them.
inline const std::vector<RecordedProgram>& RecordedPrograms() {
  static const auto& programs = *[] {
    auto* made = new std::vector<RecordedProgram>();
    for (const RecordedTrace& recorded : RecordedTracesIn("")) {
      const std::string name = recorded.model + "-" + recorded.mode;
      if (made->empty() || made->back().name != name) {
        made->push_back({name, {}});
      }
      made->back().runs[recorded.batch] = {recorded, ReadRecorded(recorded)};
    }
    return made;
  }();
  return programs;
}

// From the runs at these batches.
inline SymbolicTrace SymbolicTraceOf(const RecordedProgram& program,
                                     const std::vector<int64_t>& batches) {
  std::vector<Recording> recordings;
  for (const int64_t batch : batches) {
    recordings.push_back({BatchShape(batch), &program.runs.at(batch).trace});
  }
  return MakeSymbolicTrace(recordings).value();
}

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_PLANNER_PLAN_RECORDED_PROGRAMS_H_
