#include "planner/trace/size_law.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "planner/trace/shape.h"

namespace memplan {
namespace {

using absl::int128;

// Numbers up to this: a sum of two products of them stays within 128 bits.
constexpr int128 kMost = int128(int64_t{1} << 62);

int128 Magnitude(int128 a) { return a < 0 ? -a : a; }

// In lowest terms, with a positive denominator; both at most kMost.
struct Fraction {
  int128 above = 0;
  int128 below = 1;
};

// Nothing if it is too large.
std::optional<Fraction> Reduced(int128 above, int128 below) {
  int128 divisor = Magnitude(above);
  for (int128 rest = Magnitude(below); rest != 0;) {
    divisor = std::exchange(rest, divisor % rest);
  }
  if (below < 0) divisor = -divisor;
  const Fraction result{above / divisor, below / divisor};
  if (Magnitude(result.above) > kMost || result.below > kMost) {
    return std::nullopt;
  }
  return result;
}

std::optional<Fraction> Quotient(Fraction a, Fraction b) {
  return Reduced(a.above * b.below, a.below * b.above);
}

// a − b·c.
std::optional<Fraction> MinusProduct(Fraction a, Fraction b, Fraction c) {
  const auto product = Reduced(b.above * c.above, b.below * c.below);
  if (!product.has_value()) return std::nullopt;
  return Reduced(a.above * product->below - product->above * a.below,
                 a.below * product->below);
}

// Linear equations, one a row: coefficients, then the right side.
using Rows = std::vector<std::vector<Fraction>>;

// Clears column `column` of all rows but `pivot`. False if a number grows too
// large.
bool Clear(Rows& rows, size_t pivot, size_t column) {
  const Fraction leading = rows[pivot][column];
  for (Fraction& each : rows[pivot]) {
    const auto quotient = Quotient(each, leading);
    if (!quotient.has_value()) return false;
    each = *quotient;
  }
  for (size_t row = 0; row < rows.size(); ++row) {
    const Fraction factor = rows[row][column];
    if (row == pivot || factor.above == 0) continue;
    for (size_t i = column; i < rows[row].size(); ++i) {
      const auto rest = MinusProduct(rows[row][i], factor, rows[pivot][i]);
      if (!rest.has_value()) return false;
      rows[row][i] = *rest;
    }
  }
  return true;
}

// The only whole solution for `unknowns` unknowns; nothing if there is none,
// more than one, or a number grows too large.
std::optional<std::vector<int64_t>> Solve(Rows rows, size_t unknowns) {
  for (size_t column = 0; column < unknowns; ++column) {
    if (column >= rows.size()) return std::nullopt;
    const auto pivot =
        std::find_if(rows.begin() + static_cast<ptrdiff_t>(column), rows.end(),
                     [&](const auto& row) { return row[column].above != 0; });
    if (pivot == rows.end()) return std::nullopt;
    std::swap(rows[column], *pivot);
    if (!Clear(rows, column, column)) return std::nullopt;
  }
  std::vector<int64_t> solution;
  for (size_t row = 0; row < rows.size(); ++row) {
    const Fraction value = rows[row][unknowns];
    if (row >= unknowns && value.above != 0) return std::nullopt;
    if (row >= unknowns) continue;
    if (value.below != 1) return std::nullopt;
    solution.push_back(static_cast<int64_t>(value.above));
  }
  return solution;
}

Fraction Whole(int64_t value) { return {int128(value), 1}; }

// A row for each point: 1, then the values of `dimensions`.
Rows AffineRows(const std::vector<std::vector<int64_t>>& points,
                const std::vector<size_t>& dimensions) {
  Rows rows;
  for (const std::vector<int64_t>& point : points) {
    std::vector<Fraction>& row = rows.emplace_back();
    row.push_back(Whole(1));
    for (size_t d : dimensions) row.push_back(Whole(point[d]));
  }
  return rows;
}

// Adds the products of each two of `dimensions`.
void AddProducts(const std::vector<std::vector<int64_t>>& points,
                 const std::vector<size_t>& dimensions, Rows& rows) {
  for (size_t row = 0; row < rows.size(); ++row) {
    for (size_t i = 0; i < dimensions.size(); ++i) {
      for (size_t j = i; j < dimensions.size(); ++j) {
        rows[row].push_back(
            Whole(points[row][dimensions[i]] * points[row][dimensions[j]]));
      }
    }
  }
}

void AddRightSides(std::span<const int64_t> sizes, Rows& rows) {
  for (size_t row = 0; row < rows.size(); ++row) {
    rows[row].push_back(Whole(sizes[row]));
  }
}

bool AllEqual(std::span<const int64_t> values) {
  return std::adjacent_find(values.begin(), values.end(),
                            std::not_equal_to<>()) == values.end();
}

// Place of the pair i ≤ j in SizeLaw::quadratic.
size_t PairPlace(size_t i, size_t j, size_t dimensions) {
  return i * dimensions - i * (i + 1) / 2 + j;
}

absl::Status CheckPoints(const std::vector<std::vector<int64_t>>& points) {
  if (points.size() < 2) {
    return absl::InvalidArgumentError(
        "a law needs sizes at two points at least; record another shape");
  }
  for (const std::vector<int64_t>& point : points) {
    if (point.size() != points[0].size() || point.empty()) {
      return absl::InvalidArgumentError(
          "all points of a law need a value of each dimension");
    }
    for (int64_t value : point) {
      if (value < 1 || value > kMaxShapeDimension) {
        return absl::InvalidArgumentError(absl::StrCat(
            "a dimension is 1 to ", kMaxShapeDimension, ", not ", value));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view LawKindName(LawKind kind) {
  switch (kind) {
    case LawKind::kConstant:
      return "constant";
    case LawKind::kAffine:
      return "affine";
    case LawKind::kQuadratic:
      return "quadratic";
  }
  return "constant";
}

LawKind SizeLaw::kind() const {
  if (!quadratic.empty()) return LawKind::kQuadratic;
  return linear.empty() ? LawKind::kConstant : LawKind::kAffine;
}

std::optional<int64_t> SizeLaw::At(std::span<const int64_t> values) const {
  // Coefficients are below 2^63 and products below 2^60: 2^20 terms fit.
  int128 bytes = constant;
  for (size_t i = 0; i < linear.size(); ++i) {
    bytes += int128(linear[i]) * values[i];
  }
  if (!quadratic.empty()) {
    for (size_t i = 0; i < values.size(); ++i) {
      for (size_t j = i; j < values.size(); ++j) {
        bytes += int128(quadratic[PairPlace(i, j, values.size())]) *
                 (values[i] * values[j]);
      }
    }
  }
  constexpr int128 kLimit = int128(1) << 63;
  if (bytes < -kLimit || bytes >= kLimit) return std::nullopt;
  return static_cast<int64_t>(bytes);
}

absl::StatusOr<SizeLawFitter> SizeLawFitter::Create(
    std::vector<std::vector<int64_t>> points) {
  if (absl::Status status = CheckPoints(points); !status.ok()) return status;
  SizeLawFitter fitter;
  fitter.varies_.resize(points[0].size());
  for (size_t d = 0; d < points[0].size(); ++d) {
    fitter.varies_[d] = std::any_of(
        points.begin(), points.end(),
        [&](const auto& point) { return point[d] != points[0][d]; });
    if (fitter.varies_[d]) fitter.varying_.push_back(d);
  }
  Rows rows = AffineRows(points, fitter.varying_);
  AddRightSides(std::vector<int64_t>(points.size()), rows);
  if (fitter.varying_.empty() ||
      !Solve(rows, fitter.varying_.size() + 1).has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        points.size(), " points do not tell ", fitter.varying_.size(),
        " varying dimensions apart; record a shape in which only one of them "
        "differs"));
  }
  fitter.points_ = std::move(points);
  return fitter;
}

std::optional<SizeLaw> SizeLawFitter::Fit(
    std::span<const int64_t> sizes) const {
  if (sizes.size() != points_.size()) return std::nullopt;
  if (AllEqual(sizes)) return SizeLaw{.constant = sizes[0]};
  Rows rows = AffineRows(points_, varying_);
  AddRightSides(sizes, rows);
  const auto solution = Solve(std::move(rows), varying_.size() + 1);
  if (!solution.has_value()) return FitQuadratic(sizes);
  SizeLaw law{.constant = (*solution)[0]};
  law.linear.resize(dimension_count());
  for (size_t i = 0; i < varying_.size(); ++i) {
    law.linear[varying_[i]] = (*solution)[i + 1];
  }
  return law;
}

std::optional<SizeLaw> SizeLawFitter::FitQuadratic(
    std::span<const int64_t> sizes) const {
  const size_t n = varying_.size();
  const size_t coefficients = 1 + n + n * (n + 1) / 2;
  if (points_.size() <= coefficients) return std::nullopt;
  Rows rows = AffineRows(points_, varying_);
  AddProducts(points_, varying_, rows);
  AddRightSides(sizes, rows);
  const auto solution = Solve(std::move(rows), coefficients);
  if (!solution.has_value()) return std::nullopt;
  SizeLaw law{.constant = (*solution)[0]};
  law.linear.resize(dimension_count());
  law.quadratic.resize(dimension_count() * (dimension_count() + 1) / 2);
  size_t next = 1;
  for (size_t d : varying_) law.linear[d] = (*solution)[next++];
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i; j < n; ++j) {
      law.quadratic[PairPlace(varying_[i], varying_[j], dimension_count())] =
          (*solution)[next++];
    }
  }
  return law;
}

}  // namespace memplan
