#include "server/devices/process_name.h"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace memplan {
namespace {

// The inode of the first pid namespace is fixed: PROC_PID_INIT_INO, 0xEFFFFFFC,
// in the kernel's include/linux/proc_ns.h.
constexpr const char* kHostPidNamespace = "pid:[4026531836]";

}  // namespace

bool SeesHostProcesses(const std::string& root) {
  std::error_code error;
  const auto target =
      std::filesystem::read_symlink(root + "/proc/self/ns/pid", error);
  return !error && target == kHostPidNamespace;
}

std::string ProcessName(int64_t pid, const std::string& root) {
  std::ifstream file(root + "/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace memplan
