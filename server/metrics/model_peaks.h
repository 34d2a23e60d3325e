// The last peaks of each model, for the metrics: what its latest finished probe
// showed. Pure.
#ifndef MEMPLAN_SERVER_METRICS_MODEL_PEAKS_H_
#define MEMPLAN_SERVER_METRICS_MODEL_PEAKS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "planner/base/bytes.h"
#include "server/probe/probe.h"

namespace memplan {

struct ModelPeaks {
  std::string model;  // the first 12 digits of its SHA-256
  int64_t batch = 0;  // the batch that showed them
  Bytes allocated;
  std::optional<Bytes> reserved;
  std::optional<double> fragmentation_ratio;  // 0 to 1
};

struct TrackedModels {
  std::vector<ModelPeaks> models;
  int64_t untracked = 0;  // models with peaks beyond the cap
};

// The peaks of each model's latest probe that succeeded with peaks to show: of a
// search the safe batch's, of a profile those of the largest batch that fits.
// `probes` are newest first; the `most` models probed last are kept.
TrackedModels LatestModelPeaks(
    std::span<const std::shared_ptr<const Probe>> probes, size_t most);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_METRICS_MODEL_PEAKS_H_
