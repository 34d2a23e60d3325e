#include "cuda/worker/sandbox/sandbox.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cuda/worker/sandbox/gpu_nodes.h"
#include "cuda/worker/sandbox/landlock.h"
#include "cuda/worker/sandbox/library_folders.h"
#include "cuda/worker/sandbox/resource_limits.h"
#include "cuda/worker/sandbox/system_call_filter.h"

namespace memplan::gpu {
namespace {

SandboxLayer Layer(std::string_view name, LayerState state,
                   std::string detail) {
  return {std::string(name), state, std::move(detail)};
}

SandboxLayer Missing(std::string_view name, std::string detail) {
  return Layer(name, LayerState::kMissing, std::move(detail));
}

SandboxLayer InForce(std::string_view name, std::string detail) {
  return Layer(name, LayerState::kInForce, std::move(detail));
}

SandboxLayer GiveUpPrivileges() {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
      prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) {
    return InForce(kNoNewPrivilegesLayer, "no program it runs gains rights");
  }
  return Missing(kNoNewPrivilegesLayer, std::generic_category().message(errno));
}

SandboxLayer SetLimits() {
  auto words = LimitResources();
  if (!words.ok()) {
    return Missing(kResourceLimitsLayer, std::string(words.status().message()));
  }
  return InForce(kResourceLimitsLayer, *std::move(words));
}

// Of this process; 0 if that cannot be told.
std::ptrdiff_t ThreadCount() {
  std::error_code error;
  const std::filesystem::directory_iterator threads("/proc/self/task", error);
  return error ? 0 : std::distance(begin(threads), end(threads));
}

// No list allows the top folder's names.
bool LandlockHolds() {
  const int top = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (top < 0) return errno == EACCES;
  close(top);
  return false;
}

SandboxLayer ShutFiles(const SandboxSubject& subject, int abi) {
  if (const auto threads = ThreadCount(); threads > 1) {
    return Missing(kLandlockLayer,
                   absl::StrCat(threads,
                                " threads run already, and the others "
                                "would stay outside"));
  }
  const absl::Status shut = RestrictFiles(FileRules(subject), abi);
  if (!shut.ok()) return Missing(kLandlockLayer, std::string(shut.message()));
  if (!LandlockHolds()) {
    return Missing(kLandlockLayer, "set, but the top folder can be read");
  }
  return InForce(
      kLandlockLayer,
      absl::StrCat("ABI ", abi, ": files", abi >= 3 ? ", truncation" : "",
                   abi >= 5 ? ", device control" : "", abi >= 4 ? ", TCP" : "",
                   subject.whole_proc ? ", all of /proc read" : ""));
}

void AddLandlock(const SandboxSubject& subject, const Allowances& allowances,
                 std::vector<SandboxLayer>& layers) {
  if (allowances.contains("landlock")) {
    layers.push_back(Layer(kLandlockLayer, LayerState::kOff, "allowed"));
    layers.push_back(Layer(kLandlockScopesLayer, LayerState::kOff, "allowed"));
    return;
  }
  const auto abi = LandlockAbi();
  layers.push_back(
      abi.ok() ? ShutFiles(subject, *abi)
               : Missing(kLandlockLayer, std::string(abi.status().message())));
  constexpr int kScopesSince = 6;
  const bool shut = layers.back().state == LayerState::kInForce;
  layers.push_back(
      shut && *abi >= kScopesSince
          ? InForce(kLandlockScopesLayer, "signals, abstract sockets")
          : Missing(kLandlockScopesLayer,
                    shut ? absl::StrCat("the kernel has Landlock's ABI ", *abi,
                                        ", and 6 is needed (Linux 6.12)")
                         : "no Landlock"));
}

// The filter answers EPERM; a kernel without the network would say otherwise.
bool FilterHolds() {
  const int network = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (network < 0) return errno == EPERM;
  close(network);
  return false;
}

SandboxLayer FilterCalls(const Allowances& allowances) {
  if (allowances.contains("seccomp")) {
    return Layer(kSeccompLayer, LayerState::kOff, "allowed");
  }
  const absl::Status filtered = RefuseSystemCalls(allowances);
  if (!filtered.ok()) {
    return Missing(kSeccompLayer, std::string(filtered.message()));
  }
  if (!allowances.contains("network") && !FilterHolds()) {
    return Missing(kSeccompLayer, "set, but a network socket can be made");
  }
  std::string words = "no ";
  for (const RefusedCalls& group : RefusedGroups()) {
    if (allowances.contains(std::string(group.group))) continue;
    absl::StrAppend(&words, std::string(group.group), ", ");
  }
  absl::StrAppend(&words, "network");
  return InForce(kSeccompLayer, std::move(words));
}

}  // namespace

std::vector<SandboxLayer> EnterSandbox(SandboxSubject subject,
                                       const Allowances& allowances) {
  subject.whole_proc = subject.whole_proc || allowances.contains("proc");
  std::vector<SandboxLayer> layers;
  layers.push_back(GiveUpPrivileges());
  layers.push_back(SetLimits());
  AddLandlock(subject, allowances, layers);
  layers.push_back(FilterCalls(allowances));
  return layers;
}

SandboxSubject SubjectOf(const TrialRequest& request) {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  SandboxSubject subject;
  subject.model_path = request.model_path;
  subject.loss_path = request.loss_path;
  subject.device = request.device;
  if (request.sandbox) subject.scratch_path = request.sandbox->scratch_path;
  subject.library_folders = LibraryFolders(variable("LD_LIBRARY_PATH"));
  if (subject.device == DeviceKind::kCuda) {
    subject.gpu_nodes = GpuNodes(variable("CUDA_VISIBLE_DEVICES"),
                                 "/proc/driver/nvidia", "/dev");
  }
  return subject;
}

bool Refuses(const std::vector<SandboxLayer>& layers) {
  return std::any_of(layers.begin(), layers.end(), [](const auto& layer) {
    return layer.state == LayerState::kInForce &&
           (layer.name == kLandlockLayer || layer.name == kSeccompLayer);
  });
}

}  // namespace memplan::gpu
