// How the size of a request follows from the dimensions of a run, exactly:
// constant, affine or quadratic with whole coefficients.
//
//   bytes = c + Σ cᵢ·xᵢ + Σ cᵢⱼ·xᵢ·xⱼ
//
// A law is taken from sizes seen at some points and holds at every one of them
// or is not given: nothing is rounded or averaged.
#ifndef MEMPLAN_PLANNER_TRACE_SIZE_LAW_H_
#define MEMPLAN_PLANNER_TRACE_SIZE_LAW_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace memplan {

enum class LawKind : uint8_t { kConstant, kAffine, kQuadratic };

std::string_view LawKindName(LawKind kind);

// A value. Dimensions are known by their place.
struct SizeLaw {
  int64_t constant = 0;
  std::vector<int64_t> linear = {};     // empty: constant
  std::vector<int64_t> quadratic = {};  // of i ≤ j, row by row; empty: affine

  LawKind kind() const;
  // The size at `values`, one of each dimension, 1 to kMaxShapeDimension; beyond the
  // recorded shapes it may be negative. Nothing if it does not fit 64 bits.
  std::optional<int64_t> At(std::span<const int64_t> values) const;

  friend bool operator==(const SizeLaw&, const SizeLaw&) = default;
};

// Fits laws through sizes seen at the same points. Immutable once made.
class SizeLawFitter {
 public:
  // `points` are at least two, different, each with the same number of values,
  // all of them 1 to kMaxShapeDimension. kInvalidArgument otherwise, and if the
  // points cannot tell the dimensions apart: two that vary only together.
  static absl::StatusOr<SizeLawFitter> Create(
      std::vector<std::vector<int64_t>> points);

  // The simplest law that gives sizes[i] at point i for every i. Nothing if
  // there is none. Quadratic only with a point more than it has coefficients:
  // through as many as it has, one goes always.
  std::optional<SizeLaw> Fit(std::span<const int64_t> sizes) const;

  // Whether the values of dimension `d` differ between points; a law says
  // nothing of one that does not.
  bool Varies(size_t d) const { return varies_[d]; }

 private:
  SizeLawFitter() = default;

  std::optional<SizeLaw> FitQuadratic(std::span<const int64_t> sizes) const;

  size_t dimension_count() const { return varies_.size(); }

  std::vector<std::vector<int64_t>> points_;
  std::vector<bool> varies_;
  std::vector<size_t> varying_;  // the dimensions that do
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_SIZE_LAW_H_
