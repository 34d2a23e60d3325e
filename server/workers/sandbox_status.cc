#include "server/workers/sandbox_status.h"

#include "absl/strings/str_cat.h"

namespace memplan {
namespace {

std::string_view StateWords(LayerState state) {
  switch (state) {
    case LayerState::kInForce:
      return "in force";
    case LayerState::kMissing:
      return "missing";
    case LayerState::kOff:
      return "off";
  }
  return "missing";
}

LayerState StateFrom(gpu::LayerState state) {
  switch (state) {
    case gpu::LayerState::kInForce:
      return LayerState::kInForce;
    case gpu::LayerState::kMissing:
      return LayerState::kMissing;
    case gpu::LayerState::kOff:
      return LayerState::kOff;
  }
  return LayerState::kMissing;
}

}  // namespace

std::string_view SandboxModeName(SandboxMode mode) {
  switch (mode) {
    case SandboxMode::kOff:
      return "off";
    case SandboxMode::kAuto:
      return "auto";
    case SandboxMode::kRequire:
      return "require";
  }
  return "off";
}

std::vector<SandboxLayer> LayersFromWorker(
    const std::vector<gpu::SandboxLayer>& layers) {
  std::vector<SandboxLayer> told;
  told.reserve(layers.size());
  for (const gpu::SandboxLayer& layer : layers) {
    told.push_back({layer.name, StateFrom(layer.state), layer.detail});
  }
  return told;
}

std::vector<SandboxLayer> AllLayers(const SandboxStatus& status) {
  std::vector<SandboxLayer> all = status.layers;
  all.insert(all.end(), status.daemon_layers.begin(),
             status.daemon_layers.end());
  return all;
}

std::string SandboxLine(const SandboxStatus& status) {
  std::string line =
      absl::StrCat("sandbox ", std::string(SandboxModeName(status.mode)), ":");
  const char* separator = " ";
  if (status.layers.empty()) {
    absl::StrAppend(&line, " ",
                    status.mode == SandboxMode::kOff
                        ? "models run with all the rights of this daemon"
                    : status.fault.empty() ? "not yet tried"
                                           : status.fault);
    separator = "; ";
  }
  for (const SandboxLayer& layer : AllLayers(status)) {
    absl::StrAppend(&line, separator, layer.name, " ",
                    std::string(StateWords(layer.state)));
    if (!layer.detail.empty()) absl::StrAppend(&line, " (", layer.detail, ")");
    separator = "; ";
  }
  return line;
}

}  // namespace memplan
