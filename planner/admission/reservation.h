// Bytes held on a device for a job that has been admitted.
//
//              Adopt                    Release
//   kPromised ───────▶ kAdopted ─────────────────▶ kReleased
//     │  │   ◀───────    │   │                        ▲
//     │  │  its last     │   └─ device gone ─▶ kDeviceGone
//     │  │  process      │                        ▲   │
//     │  │  ended        └ (over its promise: flagged, not ended)
//     │  └───────── Release, device gone ─────────┴───┘
//     └─ lifetime over ─▶ kExpired
//
// The lifetime runs only while no process holds it, so that a holder which is
// restarted finds its reservation, and one that never comes loses it.
#ifndef MEMPLAN_PLANNER_ADMISSION_RESERVATION_H_
#define MEMPLAN_PLANNER_ADMISSION_RESERVATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "planner/admission/need.h"
#include "planner/base/bytes.h"

namespace memplan {

enum class ReservationState {
  kPromised,
  kAdopted,
  kReleased,
  kExpired,
  kDeviceGone,
};

constexpr bool HasEnded(ReservationState state) {
  return state != ReservationState::kPromised &&
         state != ReservationState::kAdopted;
}

// A process that a reservation was handed to. The start time tells it from
// another one that gets its number later.
struct HeldProcess {
  int64_t pid = 0;
  int64_t start_ticks = 0;  // since the host's boot, as the kernel counts
  friend bool operator==(const HeldProcess&, const HeldProcess&) = default;
};

struct Reservation {
  std::string id;
  std::string request_id;
  std::string request;  // what was asked, to tell a repeated call from another
  std::string token;    // its owner's; nobody else learns it
  std::string device_id;
  std::string holder;  // who it is for, in the owner's words
  Bytes promised;
  Need need;  // what `promised` was taken from
  absl::Duration lifetime;
  ReservationState state = ReservationState::kPromised;
  // When the lifetime is over, since the host's boot; of kPromised.
  absl::Duration expires_at;
  std::vector<HeldProcess> processes;  // that live, of kAdopted
  // What those use together, as last read; unset if nobody says.
  std::optional<Bytes> measured;
  Bytes peak;                      // the largest `measured`
  bool ran_out_of_memory = false;  // as its owner told
  absl::Time create_time;
  absl::Time end_time = absl::InfiniteFuture();
  // False for what the daemon holds for its own probes: not kept on disk.
  bool durable = true;
};

// What it was promised and does not use yet; 0 once it has ended.
Bytes Outstanding(const Reservation& reservation);

// What it counts for: its promise, or what it uses where that is more.
Bytes ClaimOf(const Reservation& reservation);

inline bool IsOverPromise(const Reservation& reservation) {
  return reservation.peak > reservation.promised;
}

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ADMISSION_RESERVATION_H_
