// Aligns two sequences of tokens: the longest common one, as runs of matches.
//
//   left    A B C D E F        runs: 0 ~ 0, length 2   (A B)
//   right   A B X D E F              3 ~ 3, length 3   (D E F)
//
// Time grows with the length and with the square of the number of differences,
// memory with the length alone: two traces of one model differ little and are
// aligned in a few passes. A limit bounds what sequences cost that have nothing
// to do with each other.
#ifndef MEMPLAN_PLANNER_TRACE_ALIGNMENT_H_
#define MEMPLAN_PLANNER_TRACE_ALIGNMENT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace memplan {

// `length` tokens from `left` on are those from `right` on.
struct MatchedRun {
  uint32_t left = 0;
  uint32_t right = 0;
  uint32_t length = 0;
  friend bool operator==(const MatchedRun&, const MatchedRun&) = default;
};

struct Alignment {
  std::vector<MatchedRun> runs;  // in order; no two touch on both sides
  // Tokens matched, as a part of all: 0 nothing is alike, 1 all is.
  double similarity_ratio = 0;
};

struct AlignmentLimits {
  // Below it the two are not taken for the same.
  double min_similarity_ratio = 0.5;
  // Cells looked at: about 30 ms.
  int64_t max_work = int64_t{1} << 25;
};

// Each sequence has fewer than 2^30 tokens. kInvalidArgument, with the
// similarity, if it is below the limit or too small to be found with the work
// allowed. Two empty sequences are alike.
absl::StatusOr<Alignment> Align(std::span<const uint32_t> left,
                                std::span<const uint32_t> right,
                                const AlignmentLimits& limits = {});

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_ALIGNMENT_H_
