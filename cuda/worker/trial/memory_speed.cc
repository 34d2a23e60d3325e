#include "cuda/worker/trial/memory_speed.h"

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cuda/worker/messages/spilled.h"
#include "planner/base/format.h"

namespace memplan::gpu {
namespace {

void CutInto(const Stretch& segment, std::vector<Stretch>& stretches) {
  Stretch rest = segment;
  while (rest.bytes >= kSmallestStretch) {
    const Bytes bytes = std::min(rest.bytes, kLargestStretch);
    stretches.push_back({rest.address, bytes});
    rest.address += static_cast<uint64_t>(bytes.count());
    rest.bytes -= bytes;
  }
}

MemorySpeed NotMeasured(double peak, std::string why) {
  return {.slowest = 0, .peak = peak, .absence = std::move(why)};
}

// 0 if none is judged.
double Slowest(const std::vector<double>& speeds) {
  double slowest = 0;
  for (const double speed : speeds) {
    if (speed > 0 && (slowest == 0 || speed < slowest)) slowest = speed;
  }
  return slowest;
}

// Those of `stretches` that look spilled, read again.
absl::Status MeasureAgain(const std::vector<Stretch>& stretches, double peak,
                          MeasureSpeeds measure, std::vector<double>& speeds) {
  std::vector<size_t> doubted;
  std::vector<Stretch> again;
  for (size_t i = 0; i < stretches.size(); ++i) {
    if (!IsSpilled(speeds[i], peak)) continue;
    doubted.push_back(i);
    again.push_back(stretches[i]);
  }
  if (again.empty()) return absl::OkStatus();
  const absl::StatusOr<std::vector<double>> second = measure(again);
  if (!second.ok()) return second.status();
  for (size_t i = 0; i < doubted.size() && i < second->size(); ++i) {
    double& speed = speeds[doubted[i]];
    speed = std::max(speed, (*second)[i]);
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<Stretch> StretchesToRead(const std::vector<Stretch>& segments) {
  std::vector<Stretch> all;
  for (const Stretch& segment : segments) CutInto(segment, all);
  if (all.size() <= kMostStretches) return all;
  std::vector<Stretch> chosen;
  chosen.reserve(kMostStretches);
  for (size_t i = 0; i < kMostStretches; ++i) {
    chosen.push_back(all[i * (all.size() - 1) / (kMostStretches - 1)]);
  }
  return chosen;
}

MemorySpeed SlowestRead(const std::vector<Stretch>& segments, double peak,
                        MeasureSpeeds measure) {
  const std::vector<Stretch> stretches = StretchesToRead(segments);
  if (stretches.empty()) {
    return NotMeasured(peak,
                       absl::StrCat("the trial holds no segment of ",
                                    FormatBytes(kSmallestStretch), " or more"));
  }
  if (peak <= 0) {
    return NotMeasured(0, "the driver does not say how fast the memory is");
  }
  absl::StatusOr<std::vector<double>> speeds = measure(stretches);
  absl::Status status = speeds.status();
  if (status.ok() && speeds->size() != stretches.size()) {
    status = absl::InternalError("not every stretch has been read");
  }
  if (status.ok()) status = MeasureAgain(stretches, peak, measure, *speeds);
  if (!status.ok()) {
    return NotMeasured(peak, TrimmedMessage(std::string(status.message())));
  }
  return {.slowest = Slowest(*speeds), .peak = peak, .absence = ""};
}

}  // namespace memplan::gpu
