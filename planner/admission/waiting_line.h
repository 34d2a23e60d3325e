// Who waits for memory, and who may pass whom. Small jobs may pass a large one
// that waits for room, or much of a device would lie idle; but only for so long,
// or the large one would never run. From then on its device is held for it.
//
//   waits ──── may be passed ────┬──── its device is held for it ────▶
//                            kPassable
//
// Pure: a container with the rule, no clock and no threads.
#ifndef MEMPLAN_PLANNER_ADMISSION_WAITING_LINE_H_
#define MEMPLAN_PLANNER_ADMISSION_WAITING_LINE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace memplan {

inline constexpr absl::Duration kPassable = absl::Seconds(10);

// Not thread-safe.
class WaitingLine {
 public:
  // The place of a waiter: since when it waits, then the order of arrival.
  using Ticket = std::pair<absl::Duration, int64_t>;

  // Gets in line for `devices`, any of which would do. `since` is the moment of
  // the first time, for one that comes back.
  Ticket Add(absl::Duration since, std::vector<std::string> devices);
  void Remove(const Ticket& ticket);

  // True if whoever comes at `now` without a place, or with the place `ticket`,
  // may not take memory of the device: one before it is not to be passed.
  bool IsHeld(std::string_view device_id, absl::Duration now) const;
  bool IsHeld(std::string_view device_id, absl::Duration now,
              const Ticket& ticket) const;

  // All tickets, the first in line first.
  std::vector<Ticket> InOrder() const;
  size_t size() const { return waiters_.size(); }

 private:
  std::map<Ticket, std::vector<std::string>> waiters_;  // their devices
  int64_t last_ = 0;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ADMISSION_WAITING_LINE_H_
