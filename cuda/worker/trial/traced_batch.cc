#include "cuda/worker/trial/traced_batch.h"

#include <algorithm>

namespace memplan::gpu {

std::optional<int64_t> TracedBatch(
    std::span<const InputSpec> inputs,
    std::span<const std::vector<int64_t>> shapes) {
  for (size_t i = 0; i < std::min(inputs.size(), shapes.size()); ++i) {
    const std::vector<Dimension>& dimensions = inputs[i].shape;
    if (dimensions.size() != shapes[i].size()) return std::nullopt;
    for (size_t d = 0; d < dimensions.size(); ++d) {
      if (dimensions[d].name != kBatchDimension) continue;
      const int64_t times = dimensions[d].size;
      const int64_t size = shapes[i][d];
      if (times < 1 || size < 1 || size % times != 0 ||
          size / times > kMaxDimension) {
        return std::nullopt;
      }
      return size / times;
    }
  }
  return std::nullopt;
}

}  // namespace memplan::gpu
