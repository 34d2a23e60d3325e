// What stands between a model and the host: the layers of the sandbox that a
// worker puts around itself, each in force, missing or not wanted. The same
// values travel from worker to daemon and from the daemon to whoever asks.
#ifndef MEMPLAN_CUDA_WORKER_MESSAGES_SANDBOX_LAYER_H_
#define MEMPLAN_CUDA_WORKER_MESSAGES_SANDBOX_LAYER_H_

#include <string>
#include <string_view>
#include <vector>

namespace memplan::gpu {

// No set-uid program and no filter can give back what was given up.
inline constexpr std::string_view kNoNewPrivilegesLayer = "no_new_privileges";
// Which files, devices and TCP ports can be reached.
inline constexpr std::string_view kLandlockLayer = "landlock";
// Signals and abstract sockets of processes outside cannot be reached.
inline constexpr std::string_view kLandlockScopesLayer = "landlock_scopes";
// System calls that a model has no need of answer an error.
inline constexpr std::string_view kSeccompLayer = "seccomp";
// Files, descriptors, core dumps: rlimits.
inline constexpr std::string_view kResourceLimitsLayer = "resource_limits";

// Without one of these a model that means harm is not held.
inline constexpr std::string_view kCoreLayers[] = {
    kNoNewPrivilegesLayer, kLandlockLayer, kSeccompLayer};

enum class LayerState { kInForce, kMissing, kOff };

struct SandboxLayer {
  std::string name;
  LayerState state = LayerState::kMissing;
  std::string detail;  // what of it is in force, or why it is not
  friend bool operator==(const SandboxLayer&, const SandboxLayer&) = default;
};

// Those of kCoreLayers that are not in force, as `name: detail`; empty if the
// model is held.
std::vector<std::string> CoreLayersMissing(
    const std::vector<SandboxLayer>& layers);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_MESSAGES_SANDBOX_LAYER_H_
