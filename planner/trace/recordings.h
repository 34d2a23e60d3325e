// Recordings of one program brought together: checked, outlined, and aligned to
// the largest of them. The first half of making a symbolic trace.
#ifndef MEMPLAN_PLANNER_TRACE_RECORDINGS_H_
#define MEMPLAN_PLANNER_TRACE_RECORDINGS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/trace/outline.h"
#include "planner/trace/shape.h"
#include "planner/trace/trace.h"

namespace memplan {

inline constexpr size_t kMaxRecordings = 16;

// One run that was recorded.
struct Recording {
  Shape shape;
  const Trace* trace = nullptr;  // not owned
};

// One recording and what of it is what of the largest.
struct AlignedRecording {
  const Trace* trace = nullptr;
  Outline outline;
  double similarity_ratio = 1;
  // By block and mark of the largest recording: those of this one, or kNoId.
  std::vector<uint32_t> blocks;
  std::vector<uint32_t> marks;

  OutlinedTrace outlined() const { return {*trace, outline}; }
};

struct AlignedRecordings {
  std::vector<std::vector<int64_t>> points;  // by recording
  size_t largest = 0;
  std::vector<AlignedRecording> recordings;  // as given

  const AlignedRecording& Largest() const { return recordings[largest]; }
};

// kInvalidArgument if there are fewer than two recordings or more than
// kMaxRecordings, two are of one shape, their dimensions differ in name, or two
// traces are not of one program (with their similarity). The traces outlive the
// result.
absl::StatusOr<AlignedRecordings> AlignRecordings(
    std::span<const Recording> recordings);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_RECORDINGS_H_
