#include "cuda/worker/sandbox/file_rules.h"

#include <array>
#include <string_view>

namespace memplan::gpu {
namespace {

struct FixedRule {
  std::string_view path;
  FileAccess access;
  std::string_view reason;
};

constexpr std::array kAlways = {
    FixedRule{"/usr", FileAccess::kRead, "the system's libraries"},
    FixedRule{"/lib", FileAccess::kRead, "the system's libraries"},
    FixedRule{"/lib64", FileAccess::kRead, "the system's libraries"},
    FixedRule{"/etc/ld.so.cache", FileAccess::kRead, "where libraries are"},
    FixedRule{"/sys", FileAccess::kRead, "processors, NUMA nodes, PCI devices"},
    FixedRule{"/dev/null", FileAccess::kUse, "nothing"},
    FixedRule{"/dev/zero", FileAccess::kUse, "zeros"},
    FixedRule{"/dev/urandom", FileAccess::kRead, "seeds of random numbers"},
    // Names of threads are written there; CUDA's driver ends with its error 304
    // if it cannot.
    FixedRule{"/proc/self", FileAccess::kUse, "about this process"},
};

// Of /proc no more than programs ask about the machine: other processes' command
// lines are there too.
constexpr std::array kProc = {
    FixedRule{"/proc/cpuinfo", FileAccess::kRead, "processors"},
    FixedRule{"/proc/devices", FileAccess::kRead, "the driver's numbers"},
    FixedRule{"/proc/driver", FileAccess::kRead, "the driver's parameters"},
    FixedRule{"/proc/filesystems", FileAccess::kRead, "libraries look"},
    FixedRule{"/proc/interrupts", FileAccess::kRead, "the driver looks"},
    FixedRule{"/proc/loadavg", FileAccess::kRead, "libraries look"},
    FixedRule{"/proc/meminfo", FileAccess::kRead, "the host's memory"},
    FixedRule{"/proc/misc", FileAccess::kRead, "the driver's numbers"},
    FixedRule{"/proc/modules", FileAccess::kRead, "is the driver loaded"},
    FixedRule{"/proc/stat", FileAccess::kRead, "processors"},
    FixedRule{"/proc/sys", FileAccess::kRead, "settings of the kernel"},
    FixedRule{"/proc/uptime", FileAccess::kRead, "libraries look"},
    FixedRule{"/proc/version", FileAccess::kRead, "libraries look"},
    FixedRule{"/proc/zoneinfo", FileAccess::kRead, "libraries look"},
};
constexpr std::array kWholeProc = {
    FixedRule{"/proc", FileAccess::kRead, "whatever the driver asks"},
};

constexpr std::array kCuda = {
    FixedRule{"/usr/local/nvidia", FileAccess::kRead, "the driver's libraries"},
    FixedRule{"/usr/local/cuda", FileAccess::kRead, "CUDA's libraries"},
    FixedRule{"/dev/nvidiactl", FileAccess::kUse, "the driver"},
    FixedRule{"/dev/nvidia-uvm", FileAccess::kUse, "the driver's memory"},
    FixedRule{"/dev/nvidia-uvm-tools", FileAccess::kUse, "the driver's memory"},
    FixedRule{"/dev/nvidia-caps", FileAccess::kUse, "parts of a GPU (MIG)"},
    FixedRule{"/dev/shm", FileAccess::kOwn, "memory that CUDA shares"},
};

template <typename Rules>
void Append(std::vector<FileRule>& all, const Rules& rules) {
  for (const FixedRule& rule : rules) {
    all.push_back(
        {std::string(rule.path), rule.access, std::string(rule.reason)});
  }
}

}  // namespace

std::vector<FileRule> FileRules(const SandboxSubject& subject) {
  std::vector<FileRule> rules;
  Append(rules, kAlways);
  if (subject.whole_proc) {
    Append(rules, kWholeProc);
  } else {
    Append(rules, kProc);
  }
  for (const std::string& folder : subject.library_folders) {
    rules.push_back({folder, FileAccess::kRead, "libtorch and CUDA"});
  }
  if (subject.device == DeviceKind::kCuda) {
    Append(rules, kCuda);
    for (const std::string& node : subject.gpu_nodes) {
      rules.push_back({node, FileAccess::kUse, "the GPU"});
    }
  }
  if (!subject.model_path.empty()) {
    rules.push_back({subject.model_path, FileAccess::kRead, "the model"});
  }
  if (!subject.loss_path.empty()) {
    rules.push_back({subject.loss_path, FileAccess::kRead, "the loss"});
  }
  if (!subject.scratch_path.empty()) {
    rules.push_back({subject.scratch_path, FileAccess::kOwn, "its own folder"});
  }
  return rules;
}

}  // namespace memplan::gpu
