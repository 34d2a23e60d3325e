#include "planner/admission/placement.h"

namespace memplan {
namespace {

// The lower, the more worth telling.
int RankOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits:
      return 0;
    case Verdict::kNotNow:
      return 1;
    case Verdict::kUnknown:
      return 2;
    case Verdict::kNever:
      return 3;
  }
  return 4;
}

bool IsBetter(const Judgement& a, const Judgement& b, Placement placement) {
  if (a.verdict != b.verdict) return RankOf(a.verdict) < RankOf(b.verdict);
  const bool least_first =
      a.verdict == Verdict::kFits && placement == Placement::kBestFit;
  const Bytes of_a = a.available.value_or(Bytes(0));
  const Bytes of_b = b.available.value_or(Bytes(0));
  return least_first ? of_a < of_b : of_a > of_b;
}

}  // namespace

std::optional<size_t> Choose(std::span<const Judgement> judgements,
                             Placement placement) {
  std::optional<size_t> best;
  for (size_t i = 0; i < judgements.size(); ++i) {
    if (!best || IsBetter(judgements[i], judgements[*best], placement)) {
      best = i;
    }
  }
  return best;
}

}  // namespace memplan
