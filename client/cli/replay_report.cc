#include "client/cli/replay_report.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/table.h"
#include "planner/base/bytes.h"
#include "planner/base/format.h"

namespace memplan {
namespace {

std::string Size(int64_t bytes) { return FormatBytes(Bytes(bytes)); }

// How it ended, of a replay or an estimate.
template <typename Answer>
std::string EndWords(const Answer& answer) {
  if (answer.ends() == "ok") return "runs to its end";
  if (!answer.has_failed_request()) return "out of memory";
  return absl::StrCat("out of memory at event ", answer.failed_request());
}

std::string PhaseTable(const v1::ReplayResponse& replay) {
  Table table({{"phase", Align::kLeft},
               {"requested", Align::kRight},
               {"allocated", Align::kRight},
               {"reserved", Align::kRight},
               {"retries", Align::kRight},
               {"segments freed", Align::kRight}});
  for (const v1::ReplayedPhase& phase : replay.phases()) {
    table.AddRow({phase.name(), Size(phase.peak_requested_bytes()),
                  Size(phase.peak_allocated_bytes()),
                  Size(phase.peak_reserved_bytes()),
                  absl::StrCat(phase.allocation_retries()),
                  absl::StrCat(phase.segments_freed())});
  }
  return table.Text();
}

void AddPeak(Table& table, const std::string& name, int64_t bytes,
             const v1::ByteInterval& interval) {
  table.AddRow({name, Size(bytes), Size(interval.lower_bytes()),
                Size(interval.upper_bytes())});
}

std::string ReachWords(v1::EstimateReach reach) {
  switch (reach) {
    case v1::ESTIMATE_REACH_RECORDED:
      return "recorded";
    case v1::ESTIMATE_REACH_INTERPOLATED:
      return "interpolated";
    default:
      return "extrapolated";
  }
}

}  // namespace

std::string ReplayTable(const v1::ReplayResponse& replay) {
  Table table({{"", Align::kLeft}, {"", Align::kLeft}});
  table.AddRow({"ends", EndWords(replay)});
  table.AddRow({"peak requested", Size(replay.peak_requested_bytes())});
  table.AddRow({"peak allocated", Size(replay.peak_allocated_bytes())});
  table.AddRow({"peak reserved", Size(replay.peak_reserved_bytes())});
  table.AddRow({"fragmentation", Size(replay.fragmentation_bytes())});
  table.AddRow({"retries", absl::StrCat(replay.allocation_retries())});
  table.AddRow({"segments freed", absl::StrCat(replay.segments_freed())});
  return absl::StrCat(table.Text(), "\n", PhaseTable(replay));
}

std::string EstimateTable(const v1::EstimateResponse& estimate) {
  Table peaks({{"peak", Align::kLeft},
               {"estimate", Align::kRight},
               {"at least", Align::kRight},
               {"at most", Align::kRight}});
  const v1::EstimateInterval& interval = estimate.interval();
  AddPeak(peaks, "requested", estimate.peak_requested_bytes(),
          interval.peak_requested_bytes());
  AddPeak(peaks, "allocated", estimate.peak_allocated_bytes(),
          interval.peak_allocated_bytes());
  AddPeak(peaks, "reserved", estimate.peak_reserved_bytes(),
          interval.peak_reserved_bytes());
  Table rest({{"", Align::kLeft}, {"", Align::kLeft}});
  rest.AddRow({"ends", absl::StrCat(EndWords(estimate),
                                    estimate.end_is_certain()
                                        ? ""
                                        : ", but not under every assumption")});
  rest.AddRow({"retries", absl::StrCat(estimate.allocation_retries(), ", ",
                                       estimate.steady_allocation_retries(),
                                       " in a steady step")});
  rest.AddRow({"batch", ReachWords(estimate.reach())});
  rest.AddRow({"assumed",
               absl::StrCat("scratch of ", estimate.assumed_calls(),
                            " operator calls of ", estimate.irregular_calls(),
                            " whose scratch follows no law")});
  rest.AddRow({"traces alike",
               absl::StrFormat("%.1f %%", estimate.similarity_ratio() * 100)});
  return absl::StrCat(peaks.Text(), "\n", rest.Text());
}

}  // namespace memplan
