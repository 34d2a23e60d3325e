#include "client/cli/progress.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/cli/words.h"

namespace memplan {
namespace {

constexpr int64_t kBarWidth = 20;  // columns between the brackets

std::string PhaseWords(const v1::ProbeProgress& progress) {
  if (progress.phase() == "start") return "starting";
  if (progress.phase() == "load") return "loading the model";
  if (progress.phase() == "report") return "reporting";
  if (progress.phase() == "calls") return "running operators alone";
  return absl::StrCat(
      "step ",
      std::min(progress.steps_done() + 1, std::max(progress.steps_total(), 1)),
      " of ", progress.steps_total());
}

std::string KnownWords(const v1::ProbeProgress& progress) {
  std::string words;
  if (progress.largest_running_batch() > 0) {
    absl::StrAppend(&words, ", runs at ", progress.largest_running_batch());
  }
  if (progress.smallest_failing_batch() > 0) {
    absl::StrAppend(&words, ", fails at ", progress.smallest_failing_batch());
  }
  return words;
}

}  // namespace

std::string Bar(int64_t done, int64_t total) {
  const int64_t filled =
      total <= 0 ? 0
                 : static_cast<int64_t>(static_cast<double>(std::clamp<int64_t>(
                                            done, 0, total)) /
                                        static_cast<double>(total) * kBarWidth);
  return "[" + std::string(filled, '#') + std::string(kBarWidth - filled, '-') +
         "]";
}

std::string UploadLine(const std::string& path, int64_t sent, int64_t total) {
  return absl::StrCat("uploading ", path, " ", Bar(sent, total), " ",
                      BytesWords(sent), " of ", BytesWords(total));
}

std::string ProbeLine(const v1::Probe& probe) {
  if (probe.state() == v1::PROBE_STATE_QUEUED) {
    if (!probe.waiting_for().empty()) {
      return absl::StrCat("waiting: ", probe.waiting_for());
    }
    return probe.queue_position() == 0
               ? "waiting to start"
               : absl::StrCat("waiting for ",
                              Counted(probe.queue_position(), "other probe"),
                              " on ", probe.spec().device_id());
  }
  if (probe.state() != v1::PROBE_STATE_RUNNING || !probe.has_progress()) {
    return "";
  }
  const v1::ProbeProgress& progress = probe.progress();
  return absl::StrCat("trial ", progress.trial_number(), ", batch ",
                      progress.batch(), " (", PurposeWords(progress.purpose()),
                      ") ", Bar(progress.steps_done(), progress.steps_total()),
                      " ", PhaseWords(progress), KnownWords(progress));
}

}  // namespace memplan
