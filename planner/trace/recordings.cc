#include "planner/trace/recordings.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "planner/trace/alignment.h"
#include "planner/trace/outline.h"
#include "planner/trace/pairing.h"
#include "planner/trace/shape.h"

namespace memplan {
namespace {

absl::Status CheckCount(size_t count) {
  if (count >= 2 && count <= kMaxRecordings) return absl::OkStatus();
  if (count == 1) {
    return absl::InvalidArgumentError(
        "one recording does not show how sizes grow; record a second shape, or "
        "replay this one as it is");
  }
  return absl::InvalidArgumentError(absl::StrCat("a symbolic trace needs 2 to ",
                                                 kMaxRecordings,
                                                 " recordings, not ", count));
}

absl::Status CheckShape(const Recording& recording, const Recording& first) {
  if (recording.trace == nullptr || recording.trace->events.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the recording at ", ShapeText(recording.shape), " has no event"));
  }
  const bool same_names = std::equal(
      recording.shape.begin(), recording.shape.end(), first.shape.begin(),
      first.shape.end(), [](const ShapeDimension& a, const ShapeDimension& b) {
        return a.name == b.name;
      });
  if (!same_names || recording.shape.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "recordings at ", ShapeText(first.shape), " and ",
        ShapeText(recording.shape),
        " cannot be compared; give each the same dimensions in one order"));
  }
  for (const ShapeDimension& dimension : recording.shape) {
    if (dimension.value < 1 || dimension.value > kMaxShapeDimension) {
      return absl::InvalidArgumentError(
          absl::StrCat(dimension.name, " is 1 to ", kMaxShapeDimension,
                       ", not ", dimension.value));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckDifferent(std::span<const Recording> recordings) {
  for (size_t i = 0; i < recordings.size(); ++i) {
    for (size_t j = i + 1; j < recordings.size(); ++j) {
      if (recordings[i].shape != recordings[j].shape) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("two recordings are of ", ShapeText(recordings[i].shape),
                       "; give recordings of different shapes"));
    }
  }
  return absl::OkStatus();
}

std::vector<int64_t> Values(const Shape& shape) {
  std::vector<int64_t> values;
  for (const ShapeDimension& dimension : shape)
    values.push_back(dimension.value);
  return values;
}

// The recording with the largest product of dimensions; the last of equals.
size_t FindLargest(const std::vector<std::vector<int64_t>>& points) {
  const auto volume = [](const std::vector<int64_t>& values) {
    return std::accumulate(values.begin(), values.end(), 1.0,
                           std::multiplies<>());
  };
  size_t largest = 0;
  for (size_t i = 1; i < points.size(); ++i) {
    if (volume(points[i]) >= volume(points[largest])) largest = i;
  }
  return largest;
}

absl::Status AlignTo(const Recording& largest_recording,
                     const Recording& recording,
                     const AlignedRecording& largest,
                     AlignedRecording& aligned) {
  absl::StatusOr<Alignment> alignment =
      Align(largest.outline.paths, aligned.outline.paths);
  if (!alignment.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the recordings at ", ShapeText(largest_recording.shape),
                     " and ", ShapeText(recording.shape),
                     " are not of one program: ", alignment.status().message(),
                     "; record both from the same model, mode and settings"));
  }
  aligned.similarity_ratio = alignment->similarity_ratio;
  aligned.blocks =
      PairBlocks(largest.outlined(), aligned.outlined(), *alignment);
  aligned.marks = PairMarks(largest.outline, *alignment);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AlignedRecordings> AlignRecordings(
    std::span<const Recording> recordings) {
  MEMPLAN_RETURN_IF_ERROR(CheckCount(recordings.size()));
  for (const Recording& recording : recordings) {
    MEMPLAN_RETURN_IF_ERROR(CheckShape(recording, recordings[0]));
  }
  MEMPLAN_RETURN_IF_ERROR(CheckDifferent(recordings));
  AlignedRecordings result;
  PathTable paths;
  for (const Recording& recording : recordings) {
    result.points.push_back(Values(recording.shape));
    AlignedRecording& aligned = result.recordings.emplace_back();
    aligned.trace = recording.trace;
    aligned.outline = MakeOutline(*recording.trace, paths);
  }
  result.largest = FindLargest(result.points);
  AlignedRecording& largest = result.recordings[result.largest];
  largest.blocks.resize(largest.trace->blocks.size());
  largest.marks.resize(largest.outline.paths.size());
  std::iota(largest.blocks.begin(), largest.blocks.end(), 0);
  std::iota(largest.marks.begin(), largest.marks.end(), 0);
  for (size_t i = 0; i < recordings.size(); ++i) {
    if (i == result.largest) continue;
    MEMPLAN_RETURN_IF_ERROR(AlignTo(recordings[result.largest], recordings[i],
                                    largest, result.recordings[i]));
  }
  return result;
}

}  // namespace memplan
