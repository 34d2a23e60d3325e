#include "planner/admission/need_table.h"

#include <algorithm>
#include <utility>

namespace memplan {
namespace {

// `from` + (`to` − `from`) · `part`/`whole`, rounded up; `part` ≤ `whole`. The
// products go beyond 64 bits only above 2^50 bytes times 2^13 samples, so that
// the division comes first.
Bytes OnTheLine(Bytes from, Bytes to, int64_t part, int64_t whole) {
  const int64_t rise = to.count() - from.count();
  const int64_t steps = rise / whole;
  const int64_t rest = rise % whole;
  const auto share = static_cast<double>(rest) * static_cast<double>(part) /
                     static_cast<double>(whole);
  return Bytes(from.count() + steps * part + static_cast<int64_t>(share));
}

}  // namespace

NeedTable::NeedTable(std::string plan_id, std::vector<NeedPoint> points)
    : plan_id_(std::move(plan_id)) {
  std::sort(
      points.begin(), points.end(),
      [](const NeedPoint& a, const NeedPoint& b) { return a.batch < b.batch; });
  for (const NeedPoint& point : points) {
    if (points_.empty() || points_.back().batch != point.batch) {
      points_.push_back(point);
      continue;
    }
    NeedPoint& same = points_.back();
    same.least = std::min(same.least, point.least);
    same.most = std::max(same.most, point.most);
    same.verified = same.verified || point.verified;
  }
}

int64_t NeedTable::largest_batch() const {
  return points_.empty() ? 0 : points_.back().batch;
}

std::optional<Need> NeedTable::At(int64_t batch) const {
  if (batch < 1 || batch > largest_batch()) return std::nullopt;
  const auto above =
      std::lower_bound(points_.begin(), points_.end(), batch,
                       [](const NeedPoint& point, int64_t wanted) {
                         return point.batch < wanted;
                       });
  if (above->batch == batch) return Of(*above);
  if (above != points_.begin()) return Between(*(above - 1), *above, batch);
  Need need = Of(*above);
  need.least = Bytes(0);
  need.source = NeedSource::kEstimate;
  need.batch = batch;
  return need;
}

Need NeedTable::Of(const NeedPoint& point) const {
  return {
      .least = point.least,
      .expected = point.most,
      .most = point.most,
      .source = point.verified ? NeedSource::kVerified : NeedSource::kMeasured,
      .plan_id = plan_id_,
      .batch = point.batch};
}

Need NeedTable::Between(const NeedPoint& below, const NeedPoint& above,
                        int64_t batch) const {
  return {.least = std::min(below.least, above.least),
          .expected = OnTheLine(below.most, above.most, batch - below.batch,
                                above.batch - below.batch),
          .most = std::max(below.most, above.most),
          .source = NeedSource::kEstimate,
          .plan_id = plan_id_,
          .batch = batch};
}

}  // namespace memplan
