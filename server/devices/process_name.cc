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

bool ProcessHasEnded(int64_t pid, const std::string& root) {
  std::ifstream file(root + "/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  if (line.empty()) return true;
  // The state stands after the name's last bracket.
  const size_t end_of_name = line.rfind(") ");
  return end_of_name != std::string::npos &&
         line.compare(end_of_name + 2, 1, "Z") == 0;
}

std::string ProcessName(int64_t pid, const std::string& root) {
  std::ifstream file(root + "/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace memplan
