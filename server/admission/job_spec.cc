#include "server/admission/job_spec.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "planner/base/format.h"

namespace memplan {
namespace {

constexpr size_t kNamedHolders = 3;

std::string HolderWords(const std::vector<MemoryHolder>& holders) {
  std::string words;
  const size_t named = std::min(holders.size(), kNamedHolders);
  for (size_t i = 0; i < named; ++i) {
    const MemoryHolder& holder = holders[i];
    absl::StrAppend(
        &words, "; ",
        holder.reservation_id.empty()
            ? absl::StrCat("pid ", holder.pid)
            : absl::StrCat("reservation ", holder.reservation_id),
        holder.name.empty() ? "" : absl::StrCat(" (", holder.name, ")"),
        " holds ", FormatBytes(holder.bytes));
  }
  return words;
}

std::string Available(const Answer& answer) {
  return absl::StrCat(
      answer.device->id, " has ",
      FormatBytes(answer.judgement.available.value_or(Bytes(0))), " available");
}

std::string NeedWords(const Answer& answer) {
  return answer.need ? absl::StrCat("the job takes up to ",
                                    FormatBytes(answer.need->most))
                     : "what the job takes is not known";
}

std::string AboveWords(const Answer& answer) {
  const Device& device = *answer.device;
  return absl::StrCat(NeedWords(answer), ", and ", device.id, " has ",
                      FormatBytes(device.total.value_or(Bytes(0))),
                      " in all, of which the ", "driver keeps ",
                      FormatBytes(device.driver_reserve.value_or(Bytes(0))),
                      " and ", FormatBytes(answer.headroom),
                      " stay unused; choose a smaller batch or another device");
}

std::string StaleWords(const Answer& answer) {
  if (!answer.age) {
    return absl::StrCat(answer.device->id, " has not been read yet");
  }
  return absl::StrCat(
      "the last reading of ", answer.device->id, " is ",
      absl::FormatDuration(absl::Trunc(*answer.age, absl::Milliseconds(1))),
      " old; see whether `nvidia-smi` hangs");
}

}  // namespace

std::string WordsOf(const Answer& answer) {
  if (answer.judgement.verdict == Verdict::kFits) return "";
  switch (answer.judgement.reason) {
    case VerdictReason::kRoom:
      return "";
    case VerdictReason::kNoRoom:
      return absl::StrCat(Available(answer), "; ", NeedWords(answer),
                          HolderWords(answer.holders));
    case VerdictReason::kHeldForWaiter:
      return absl::StrCat(Available(answer),
                          ", held for one who has waited longer; call "
                          "WaitForMemory to get in line");
    case VerdictReason::kAboveDevice:
      return AboveWords(answer);
    case VerdictReason::kNoPlan:
      return "no probe of this model has ended on such a device; probe it, or "
             "state the job's bytes";
    case VerdictReason::kPlanAmbiguous:
      return "probes of this model in several modes or with several inputs go "
             "with what the job says; name its mode, or the probe";
    case VerdictReason::kBatchNotMeasured:
      return "the batch is above the largest that ran; probe it, or state the "
             "job's bytes";
    case VerdictReason::kSnapshotStale:
      return StaleWords(answer);
    case VerdictReason::kDeviceLost:
      return absl::StrCat(answer.device->id,
                          " cannot be read: ", answer.device->read_error);
    case VerdictReason::kMemoryNotTold:
      return absl::StrCat("the driver does not say what ", answer.device->id,
                          " has left");
    case VerdictReason::kNoDevice:
      return "there is no GPU to choose from, or none has been read yet; "
             "`memplan devices` shows what there is";
    case VerdictReason::kPartitioned:
      return absl::StrCat(answer.device->id,
                          " is in MIG mode; name one of its instances, which "
                          "`memplan devices` shows");
  }
  return "";
}

}  // namespace memplan
