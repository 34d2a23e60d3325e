#include "planner/trace/pairing.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "planner/trace/alignment.h"
#include "planner/trace/event.h"
#include "planner/trace/outline.h"
#include "planner/trace/trace.h"

namespace memplan {
namespace {

// What pairing looks at of a block.
struct Candidate {
  uint32_t path = kNoId;  // of the operator that asked
  uint32_t born = 0;      // stretch
  uint32_t freed = kNoId;
  int64_t bytes = 0;
};

// The stretch of each event: how many matched marks are at or before it.
std::vector<uint32_t> Stretches(const OutlinedTrace& of,
                                const std::vector<bool>& is_matched) {
  std::vector<uint32_t> stretches(of.trace.events.size());
  uint32_t stretch = 0;
  size_t mark = 0;
  for (size_t i = 0; i < stretches.size(); ++i) {
    if (mark < of.outline.events.size() && of.outline.events[mark] == i) {
      if (is_matched[mark]) ++stretch;
      ++mark;
    }
    stretches[i] = stretch;
  }
  return stretches;
}

std::vector<Candidate> Candidates(const OutlinedTrace& of,
                                  const std::vector<bool>& is_matched) {
  const std::vector<uint32_t> stretches = Stretches(of, is_matched);
  std::vector<Candidate> candidates(of.trace.blocks.size());
  for (size_t b = 0; b < candidates.size(); ++b) {
    const TraceBlock& block = of.trace.blocks[b];
    const uint32_t asker = of.outline.askers[b];
    candidates[b] = {
        .path = asker == kNoId ? kNoId : of.outline.paths[asker],
        .born = stretches[block.alloc],
        .freed = block.free == kNoId ? kNoId : stretches[block.free],
        .bytes = of.trace.events[block.alloc].bytes};
  }
  return candidates;
}

bool AreAlike(const Candidate& a, const Candidate& b) {
  return a.path == b.path && a.freed == b.freed;
}

// How well two blocks of one stretch go together; 0: not at all.
double Affinity(const Candidate& a, const Candidate& b) {
  if (a.path != b.path) return 0;
  const bool both_stay = a.freed != a.born && b.freed != b.born;
  if (a.freed != b.freed && !both_stay) return 0;
  const auto smaller = static_cast<double>(std::min(a.bytes, b.bytes));
  const auto larger = static_cast<double>(std::max(a.bytes, b.bytes));
  const double ratio = larger > 0 ? smaller / larger : 1;
  return (a.freed == b.freed ? 2 : 1) + ratio;
}

class Pairer {
 public:
  Pairer(std::vector<Candidate> left, std::vector<Candidate> right)
      : left_(std::move(left)),
        right_(std::move(right)),
        partners_(left_.size(), kNoId) {}

  std::vector<uint32_t> Pair() {
    size_t l = 0;
    size_t r = 0;
    while (l < left_.size() && r < right_.size()) {
      const uint32_t stretch = std::max(left_[l].born, right_[r].born);
      l = FirstFrom(left_, l, stretch);
      r = FirstFrom(right_, r, stretch);
      const size_t l_end = FirstFrom(left_, l, stretch + 1);
      const size_t r_end = FirstFrom(right_, r, stretch + 1);
      PairStretch({l, l_end}, {r, r_end});
      l = l_end;
      r = r_end;
    }
    return std::move(partners_);
  }

 private:
  struct Range {
    size_t begin;
    size_t end;
    size_t size() const { return end - begin; }
  };

  static size_t FirstFrom(const std::vector<Candidate>& blocks, size_t from,
                          uint32_t stretch) {
    while (from < blocks.size() && blocks[from].born < stretch) ++from;
    return from;
  }

  void PairStretch(Range left, Range right) {
    while (left.size() > 0 && right.size() > 0 &&
           AreAlike(left_[left.begin], right_[right.begin]) &&
           (left.size() == right.size() || !IsAmbiguous(left, right))) {
      Match(left.begin++, right.begin++);
    }
    // Larger ones are of traces that hardly match; they stay without partners.
    constexpr size_t kMaxCells = size_t{1} << 16;
    if (left.size() == 0 || right.size() == 0 ||
        left.size() > kMaxCells / right.size()) {
      return;
    }
    PairByAffinity(left, right);
  }

  // Whether the first of the longer side could as well be the one too many.
  bool IsAmbiguous(Range left, Range right) const {
    return left.size() > right.size()
               ? AreAlike(left_[left.begin + 1], right_[right.begin])
               : AreAlike(left_[left.begin], right_[right.begin + 1]);
  }

  // The pairs in order with the greatest sum of affinities.
  void PairByAffinity(Range left, Range right) {
    const size_t columns = right.size() + 1;
    best_.assign((left.size() + 1) * columns, 0);
    const auto best = [&](size_t l, size_t r) -> double& {
      return best_[(l - left.begin) * columns + (r - right.begin)];
    };
    for (size_t l = left.end; l-- > left.begin;) {
      for (size_t r = right.end; r-- > right.begin;) {
        const double affinity = Affinity(left_[l], right_[r]);
        best(l, r) = std::max(best(l + 1, r), best(l, r + 1));
        if (affinity > 0) {
          best(l, r) = std::max(best(l, r), affinity + best(l + 1, r + 1));
        }
      }
    }
    size_t l = left.begin;
    size_t r = right.begin;
    while (l < left.end && r < right.end) {
      if (best(l, r) == best(l + 1, r)) {
        ++l;
      } else if (best(l, r) == best(l, r + 1)) {
        ++r;
      } else {
        Match(l++, r++);
      }
    }
  }

  void Match(size_t left, size_t right) {
    partners_[left] = static_cast<uint32_t>(right);
  }

  std::vector<Candidate> left_;
  std::vector<Candidate> right_;
  std::vector<uint32_t> partners_;
  std::vector<double> best_;
};

}  // namespace

std::vector<uint32_t> PairBlocks(const OutlinedTrace& left,
                                 const OutlinedTrace& right,
                                 const Alignment& alignment) {
  std::vector<bool> left_matched(left.outline.paths.size());
  std::vector<bool> right_matched(right.outline.paths.size());
  for (const MatchedRun& run : alignment.runs) {
    for (uint32_t i = 0; i < run.length; ++i) {
      left_matched[run.left + i] = true;
      right_matched[run.right + i] = true;
    }
  }
  return Pairer(Candidates(left, left_matched),
                Candidates(right, right_matched))
      .Pair();
}

std::vector<uint32_t> PairMarks(const Outline& left,
                                const Alignment& alignment) {
  std::vector<uint32_t> partners(left.paths.size(), kNoId);
  for (const MatchedRun& run : alignment.runs) {
    for (uint32_t i = 0; i < run.length; ++i) {
      partners[run.left + i] = run.right + i;
    }
  }
  return partners;
}

}  // namespace memplan
