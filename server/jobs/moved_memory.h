// Whether other processes moved a device's memory while a trial ran, so that how
// it ended may be their doing. Pure: two readings and a trial in.
//
//   before   ├─ others ─┼────────────── room ───────────────┤
//   after    ├────── others ──────┼────────── room ─────────┤
//                       ├─ moved ─┤
#ifndef MEMPLAN_SERVER_JOBS_MOVED_MEMORY_H_
#define MEMPLAN_SERVER_JOBS_MOVED_MEMORY_H_

#include <optional>
#include <string>

#include "planner/base/bytes.h"
#include "planner/plan/trial.h"

namespace memplan {

// The word of Trial.end_class for it.
inline constexpr char kNeighbourMoved[] = "neighbour-moved";

// A process that loads a few kernels more moves less.
inline constexpr Bytes kNoticedMove = MiB(64);

// What others leave of the device, before the worker began and after it ended.
struct RoomAround {
  Bytes before;
  Bytes after;
};

// Whether others can matter at all to a trial that ended so: it ran out of memory,
// or what it holds outside the allocator was told by the device's growth.
bool DependsOnOthers(const Trial& trial);

// Whether they may have decided how `trial`, which depends on them, ended: they
// moved kNoticedMove or more and, if memory ran out, left less than it might take
// (`needed`; unset: all there is).
bool MayBeTheirs(const Trial& trial, const RoomAround& room,
                 std::optional<Bytes> needed);

// `other processes took 2.00 GiB of GPU-1 during the trial, which left 4.00 GiB`.
std::string MovedWords(const RoomAround& room, const std::string& device_id);

// Has `second`, the repetition of `first`, say that others moved memory during
// both. Of what the two show of the context the larger counts.
void TellMoved(const RoomAround& room, const std::string& device_id,
               const Trial& first, Trial& second);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_MOVED_MEMORY_H_
