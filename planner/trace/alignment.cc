#include "planner/trace/alignment.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"

namespace memplan {
namespace {

using Tokens = std::span<const uint32_t>;

// A part of both sequences, half open on each side.
struct Window {
  int left_begin;
  int left_end;
  int right_begin;
  int right_end;
};

// A point of the grid that the two sequences span: tokens passed on each side.
struct Point {
  int left;
  int right;
};

// How far the cheapest ways through a window have come with `edits` steps, from
// its beginning (forward) and from its end (backward), by diagonal
// (left − right). They meet in the middle of a cheapest way, so that what is
// before and what is after can be aligned on its own. (E. Myers, "An O(ND)
// difference algorithm and its variations", 1986, section 4b.)
class MiddleFinder {
 public:
  MiddleFinder(Tokens left, Tokens right, int64_t max_work)
      : left_(left),
        right_(right),
        work_left_(max_work),
        origin_(static_cast<int>(right.size()) + 1),
        forward_(left.size() + right.size() + 3),
        backward_(left.size() + right.size() + 3) {}

  // The first and last tokens of the two sides differ, and neither is empty.
  // Nothing if the work allowed is spent.
  std::optional<Point> Find(const Window& window) {
    window_ = window;
    const int width = window.left_end - window.left_begin;
    const int height = window.right_end - window.right_begin;
    const int shift = width - height;  // diagonal of the end
    const bool odd = (shift & 1) != 0;
    for (int edits = 0;; ++edits) {
      work_left_ -= edits + 1;
      if (work_left_ < 0) return std::nullopt;
      if (edits <= height) Forward(-edits - 1) = kUnreached;
      if (edits <= width) Forward(edits + 1) = kUnreached;
      for (int k = Lowest(edits, height); k <= Highest(edits, width); k += 2) {
        const int x = AdvanceForward(k, edits == 0);
        if (odd && std::abs(k - shift) < edits && Meets(x, Backward(k))) {
          return PointAt(x, k);
        }
      }
      if (edits <= width) Backward(shift - edits - 1) = kUnreached;
      if (edits <= height) Backward(shift + edits + 1) = kUnreached;
      for (int k = Lowest(edits, width); k <= Highest(edits, height); k += 2) {
        const int x = AdvanceBackward(k + shift, edits == 0);
        if (!odd && std::abs(k + shift) <= edits &&
            Meets(Forward(k + shift), x)) {
          return PointAt(x, k + shift);
        }
      }
    }
  }

 private:
  static constexpr int kUnreached = -1;

  // Diagonals that `edits` steps reach, without those that leave the window.
  static int Lowest(int edits, int bound) {
    return -(edits - 2 * std::max(0, edits - bound));
  }
  static int Highest(int edits, int bound) {
    return edits - 2 * std::max(0, edits - bound);
  }
  static bool Meets(int forward, int backward) {
    return forward != kUnreached && backward != kUnreached &&
           forward >= backward;
  }

  int Width() const { return window_.left_end - window_.left_begin; }
  int Height() const { return window_.right_end - window_.right_begin; }
  int& Forward(int k) { return forward_[k + origin_]; }
  int& Backward(int k) { return backward_[k + origin_]; }
  uint32_t LeftAt(int x) const { return left_[window_.left_begin + x]; }
  uint32_t RightAt(int y) const { return right_[window_.right_begin + y]; }
  Point PointAt(int x, int k) const {
    return {window_.left_begin + x, window_.right_begin + x - k};
  }

  // One step to diagonal `k` from a neighbour, then along it as far as the
  // tokens are the same. Returns where it ends on the left side.
  int AdvanceForward(int k, bool begins) {
    int x = begins ? 0 : kUnreached;
    const int from_left = Forward(k - 1);
    if (from_left != kUnreached && from_left < Width()) x = from_left + 1;
    const int from_above = Forward(k + 1);
    if (from_above != kUnreached && from_above - k <= Height()) {
      x = std::max(x, from_above);
    }
    if (x != kUnreached) {
      const int start = x;
      while (x < Width() && x - k < Height() && LeftAt(x) == RightAt(x - k)) {
        ++x;
      }
      work_left_ -= x - start;
    }
    return Forward(k) = x;
  }

  int AdvanceBackward(int k, bool begins) {
    int x = begins ? Width() : kUnreached;
    const int from_right = Backward(k + 1);
    if (from_right != kUnreached && from_right > 0) x = from_right - 1;
    const int from_below = Backward(k - 1);
    if (from_below != kUnreached && from_below - k >= 0) {
      x = x == kUnreached ? from_below : std::min(x, from_below);
    }
    if (x != kUnreached) {
      const int start = x;
      while (x > 0 && x - k > 0 && LeftAt(x - 1) == RightAt(x - k - 1)) --x;
      work_left_ -= start - x;
    }
    return Backward(k) = x;
  }

  Tokens left_;
  Tokens right_;
  int64_t work_left_;
  int origin_;  // index of diagonal 0
  std::vector<int> forward_;
  std::vector<int> backward_;
  Window window_{};
};

class Aligner {
 public:
  Aligner(Tokens left, Tokens right, int64_t max_work)
      : left_(left), right_(right), middle_(left, right, max_work) {}

  // False if the work allowed is spent. Half of the differences lie on each
  // side of a middle, so calls nest no deeper than the length has bits.
  bool Match(Window window) {
    const Window whole = window;
    while (!IsEmpty(window) &&
           left_[window.left_begin] == right_[window.right_begin]) {
      ++window.left_begin;
      ++window.right_begin;
    }
    AddRun(whole.left_begin, whole.right_begin,
           window.left_begin - whole.left_begin);
    while (!IsEmpty(window) &&
           left_[window.left_end - 1] == right_[window.right_end - 1]) {
      --window.left_end;
      --window.right_end;
    }
    if (!IsEmpty(window)) {
      const std::optional<Point> middle = middle_.Find(window);
      if (!middle.has_value()) return false;
      if (!Match({window.left_begin, middle->left, window.right_begin,
                  middle->right}) ||
          !Match({middle->left, window.left_end, middle->right,
                  window.right_end})) {
        return false;
      }
    }
    AddRun(window.left_end, window.right_end, whole.left_end - window.left_end);
    return true;
  }

  std::vector<MatchedRun>& runs() { return runs_; }

 private:
  static bool IsEmpty(const Window& window) {
    return window.left_begin == window.left_end ||
           window.right_begin == window.right_end;
  }

  void AddRun(int left, int right, int length) {
    if (length == 0) return;
    const auto l = static_cast<uint32_t>(left);
    const auto r = static_cast<uint32_t>(right);
    if (!runs_.empty() && runs_.back().left + runs_.back().length == l &&
        runs_.back().right + runs_.back().length == r) {
      runs_.back().length += static_cast<uint32_t>(length);
      return;
    }
    runs_.push_back({l, r, static_cast<uint32_t>(length)});
  }

  Tokens left_;
  Tokens right_;
  MiddleFinder middle_;
  std::vector<MatchedRun> runs_;
};

double Ratio(size_t matched, Tokens left, Tokens right) {
  const size_t all = left.size() + right.size();
  return all == 0
             ? 1.0
             : 2.0 * static_cast<double>(matched) / static_cast<double>(all);
}

// No alignment can match more: tokens that both have, in whatever order.
double MostSimilar(Tokens left, Tokens right) {
  absl::flat_hash_map<uint32_t, size_t> counts;
  for (uint32_t token : left) ++counts[token];
  size_t common = 0;
  for (uint32_t token : right) {
    const auto found = counts.find(token);
    if (found == counts.end() || found->second == 0) continue;
    --found->second;
    ++common;
  }
  return Ratio(common, left, right);
}

absl::Status TooDifferent(double similarity_ratio, const char* how) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "the two sequences are too different to be aligned: %s %.1f %% is alike",
      how, 100 * similarity_ratio));
}

}  // namespace

absl::StatusOr<Alignment> Align(std::span<const uint32_t> left,
                                std::span<const uint32_t> right,
                                const AlignmentLimits& limits) {
  constexpr size_t kMostTokens = size_t{1} << 30;
  if (left.size() >= kMostTokens || right.size() >= kMostTokens) {
    return absl::InvalidArgumentError("a sequence has 2^30 tokens or more");
  }
  Aligner aligner(left, right, limits.max_work);
  if (!aligner.Match({0, static_cast<int>(left.size()), 0,
                      static_cast<int>(right.size())})) {
    return TooDifferent(MostSimilar(left, right), "at most");
  }
  Alignment alignment;
  alignment.runs = std::move(aligner.runs());
  size_t matched = 0;
  for (const MatchedRun& run : alignment.runs) matched += run.length;
  alignment.similarity_ratio = Ratio(matched, left, right);
  if (alignment.similarity_ratio < limits.min_similarity_ratio) {
    return TooDifferent(alignment.similarity_ratio, "only");
  }
  return alignment;
}

}  // namespace memplan
