// The traces that were recorded on a real GPU, tests/traces, with what the
// allocator itself said of each (its README.md tells how they were made).
#ifndef MEMPLAN_TESTS_SUPPORT_RECORDED_TRACES_H_
#define MEMPLAN_TESTS_SUPPORT_RECORDED_TRACES_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "planner/trace/trace.h"

namespace memplan::testing {

// One line of an index file.
struct RecordedTrace {
  std::string file;  // from tests/traces, such as caps/resnet50-sgd-64-cap85.…
  std::string model;
  std::string mode;
  int64_t batch = 0;
  std::string settings;              // empty: the default
  std::optional<int64_t> cap_bytes;  // none: no cap
  std::string end = "ok";            // ok, oom (settings), failed (caps)
  int64_t failed_requests = -1;      // -1: the index does not say
  int64_t segments_freed = -1;       // -1: the index does not say
  int64_t peak_requested_bytes = 0;
  int64_t peak_allocated_bytes = 0;
  int64_t peak_reserved_bytes = 0;
};

// Its file, for test output.
inline std::ostream& operator<<(std::ostream& out, const RecordedTrace& trace) {
  return out << trace.file;
}

// Every trace of a folder ("", "settings" or "caps"), in its index's order. Ends
// the program, with the reason, if the index cannot be read.
std::vector<RecordedTrace> RecordedTracesIn(const std::string& folder);

// Those of all three folders.
std::vector<RecordedTrace> AllRecordedTraces();

// Ends the program, with the reason, if the file cannot be read.
std::string ReadRecordedText(const RecordedTrace& recorded);
// The program that recorded emptied the cache when its work was over, and had no
// mark for it: one is put before the segments that go back in phase `end`.
Trace ReadRecorded(const RecordedTrace& recorded);

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SUPPORT_RECORDED_TRACES_H_
