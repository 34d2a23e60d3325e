#include "server/jobs/moved_memory.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cuda/worker/messages/messages.h"
#include "planner/base/format.h"
#include "server/devices/context_reading.h"

namespace memplan {
namespace {

// Positive if others took, negative if they gave.
Bytes TakenByOthers(const RoomAround& room) { return room.before - room.after; }

}  // namespace

bool DependsOnOthers(const Trial& trial) {
  return trial.outcome == TrialOutcome::kOutOfMemory ||
         trial.context_source == kContextFromDevice;
}

bool MayBeTheirs(const Trial& trial, const RoomAround& room,
                 std::optional<Bytes> needed) {
  const Bytes taken = TakenByOthers(room);
  if (std::max(taken, Bytes(0) - taken) < kNoticedMove) return false;
  if (trial.outcome != TrialOutcome::kOutOfMemory) return true;
  return !needed || std::min(room.before, room.after) < *needed;
}

std::string MovedWords(const RoomAround& room, const std::string& device_id) {
  const Bytes taken = TakenByOthers(room);
  const bool took = taken > Bytes(0);
  return absl::StrCat("other processes ", took ? "took " : "gave back ",
                      FormatBytes(took ? taken : Bytes(0) - taken), " of ",
                      device_id, " during the trial, which left ",
                      FormatBytes(room.after));
}

void TellMoved(const RoomAround& room, const std::string& device_id,
               const Trial& first, Trial& second) {
  if (first.context) {
    second.context =
        std::max(*first.context, second.context.value_or(Bytes(0)));
  }
  if (second.outcome != TrialOutcome::kOutOfMemory) return;
  second.end_class = kNeighbourMoved;
  second.message = gpu::TrimmedMessage(absl::StrCat(
      MovedWords(room, device_id),
      ", and likewise when it was first run; probe when nothing else moves "
      "there, or reserve what they need; it ended with: ",
      second.message));
}

}  // namespace memplan
