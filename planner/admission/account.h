// What a device has at one moment and what of it is spoken for. Plain values:
// one reading of the driver and the sums of the ledger, side by side.
//
//   total ├─ driver reserve ─┼──────── used ────────┼─ outstanding ─┼ headroom ┤
//                            ├ others ┼─ measured ──┤
//                                     └─────── promised ────────────┘
//
// A reservation counts once: what its processes use is in `used`, and only what
// it was promised beyond that is outstanding.
#ifndef MEMPLAN_PLANNER_ADMISSION_ACCOUNT_H_
#define MEMPLAN_PLANNER_ADMISSION_ACCOUNT_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "planner/admission/device.h"
#include "planner/base/bytes.h"

namespace memplan {

// The sums of the live reservations on one device.
struct PromiseSums {
  Bytes promised = {};     // what they were promised
  Bytes outstanding = {};  // of that, what their processes do not use yet
  Bytes measured = {};     // what the processes of adopted ones use
  int64_t waiting = 0;     // reservations without a process
  int64_t adopted = 0;     // reservations with one
  friend bool operator==(const PromiseSums&, const PromiseSums&) = default;
};

struct DeviceAccount {
  const Device* device = nullptr;  // the last reading; not owned
  PromiseSums sums;
  // How long ago the reading was made, by a clock that nobody sets; unset if it
  // has never been read.
  std::optional<absl::Duration> age;
};

// What the device has beside driver reserve and use: never below 0, never above
// its total. Unset if the driver does not say enough.
std::optional<Bytes> LeftOn(const Device& device);

// What a further job may take with `headroom` kept: left less outstanding less
// headroom, and 0 where that is less. Unset as LeftOn.
std::optional<Bytes> AvailableOn(const DeviceAccount& account, Bytes headroom);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ADMISSION_ACCOUNT_H_
