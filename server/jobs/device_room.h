// Whether a probe may start on its device now: what the device has left against
// what the probe may take. Pure: a reading in, what is missing out.
//
//   total   ├── driver reserve ──┼── other processes ──┼────── left ──────┤
//   needed                                             ├─ cap ─┼ context ┤
#ifndef MEMPLAN_SERVER_JOBS_DEVICE_ROOM_H_
#define MEMPLAN_SERVER_JOBS_DEVICE_ROOM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "planner/base/bytes.h"
#include "server/devices/device_monitor.h"
#include "server/probe/probe.h"

namespace memplan {

// The context of a worker that has not been seen yet: torch's on an H200.
inline constexpr Bytes kExpectedContext = MiB(768);

// The most that `probe` may take of its device: the budget; or the cap and, on a
// GPU, the context (the largest seen in its trials, else kExpectedContext), twice
// if it predicts, since a second worker waits beside the first. A probe without a
// limit takes what there is, so that the context is all it needs to begin.
Bytes BytesNeeded(const Probe& probe);

// How many workers of `probe` may each take the cap at one time on `device`, which
// saves it seconds: the two it has, with room for that, and up to two that help
// them, where all of them leave at least as much to others. 1 if it has no second
// worker or no cap (a budget is for all together), or nobody knows what is left.
int WorkersWithRoom(const Probe& probe, const Device& device);
// What so many take, of a probe with a cap.
Bytes BytesForWorkers(const Probe& probe, int workers);

// A probe's room on its device, which is its own as long as `hold` lives.
struct HeldRoom {
  std::shared_ptr<void> hold;
  int workers = 1;  // BytesForWorkers if more than one, else BytesNeeded
};

// What of it `probe` waits for on `device`: all of it, or, on a GPU that could never
// have that much, what it has when no process known is on it. Then the run itself
// shows whether it fits; else such a probe would wait for good.
Bytes BytesAwaited(const Probe& probe, const Device& device);

// What `probe` waits for, or nothing if it may start; `reading` is of its device.
// A device whose free memory the driver does not give is taken to have room.
std::optional<WaitingFor> WhatIsMissing(const Probe& probe,
                                        const DeviceReading& reading);

// What the device has left; unset where nobody knows.
std::optional<Bytes> LeftOn(const DeviceReading& reading);

// Whose a process on a device is, by its pid as the driver has it; unknown where
// nobody sees a process of that number, as in a container.
enum class ProcessOwner { kOurs, kOthers, kUnknown };
using OwnerOf = std::function<ProcessOwner(int64_t pid)>;

// Whether workers of this daemon may hold memory of a device.
enum class OwnWorkers { kNone, kSome };

// What the device has for this daemon's workers: all that neither the driver nor
// others hold. Unset where nobody knows, or own workers cannot be told from others.
std::optional<Bytes> RoomBesideOthers(const DeviceReading& reading,
                                      OwnWorkers own, const OwnerOf& owner_of);

// What tells whether trials ran on the same device: the id, and of a GPU its
// name, total and driver. Empty if it has not been read.
std::string DeviceIdentity(const DeviceReading& reading);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_DEVICE_ROOM_H_
