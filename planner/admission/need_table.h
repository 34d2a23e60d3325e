// What batches of one model take: the batches that ran, and what follows for
// those between. Made once, when a plan is stored, so that a verdict costs a
// look-up. Pure.
//
//   bytes
//     │              ┌──●  most   between two batches that ran, an estimate:
//     │        ●┄┄┄┄┄┘  ●  least  on the line, within what both showed
//     └────────┴────────┴──── batch
//
// Above the largest batch that ran nothing is known: memory is not a line.
#ifndef MEMPLAN_PLANNER_ADMISSION_NEED_TABLE_H_
#define MEMPLAN_PLANNER_ADMISSION_NEED_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/admission/need.h"
#include "planner/base/bytes.h"

namespace memplan {

// What a batch took in the runs that there were of it.
struct NeedPoint {
  int64_t batch = 0;
  Bytes least;
  Bytes most;
  bool verified = false;  // one of them ran in a fresh process to verify it
};

// A value; const methods may be called from any thread.
class NeedTable {
 public:
  NeedTable() = default;
  // Points of one batch are one with the wider interval.
  NeedTable(std::string plan_id, std::vector<NeedPoint> points);

  // What `batch` takes; unset above the largest that ran. Below the smallest
  // that ran it is at most what that took.
  std::optional<Need> At(int64_t batch) const;

  bool empty() const { return points_.empty(); }
  // Of those that ran; 0 if none did.
  int64_t largest_batch() const;
  const std::string& plan_id() const { return plan_id_; }

 private:
  Need Of(const NeedPoint& point) const;
  Need Between(const NeedPoint& below, const NeedPoint& above,
               int64_t batch) const;

  std::string plan_id_;
  std::vector<NeedPoint> points_;  // by batch
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ADMISSION_NEED_TABLE_H_
