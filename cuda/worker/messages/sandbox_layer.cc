#include "cuda/worker/messages/sandbox_layer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace memplan::gpu {

std::vector<std::string> CoreLayersMissing(
    const std::vector<SandboxLayer>& layers) {
  std::vector<std::string> missing;
  for (const std::string_view name : kCoreLayers) {
    const auto layer = std::find_if(
        layers.begin(), layers.end(),
        [name](const SandboxLayer& known) { return known.name == name; });
    if (layer == layers.end()) {
      missing.push_back(absl::StrCat(std::string(name), ": not told"));
    } else if (layer->state != LayerState::kInForce) {
      missing.push_back(absl::StrCat(layer->name, ": ", layer->detail));
    }
  }
  return missing;
}

}  // namespace memplan::gpu
