#include "server/devices/host_memory.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"

namespace memplan {
namespace {

// Where the two versions of control groups keep what is asked here.
struct GroupFiles {
  const char* mount;
  const char* limit;
  const char* usage;
  const char* reclaimable;  // the key in memory.stat
};
constexpr GroupFiles kVersion1 = {
    "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
    "total_inactive_file"};
constexpr GroupFiles kVersion2 = {"/sys/fs/cgroup", "memory.max",
                                  "memory.current", "inactive_file"};

// The number after `key` at the start of a line of `path`, in the file's unit.
std::optional<int64_t> NumberAfter(const std::string& path,
                                   const std::string& key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    int64_t number = 0;
    if (words >> name >> number && name == key) return number;
  }
  return std::nullopt;
}

// The file's only number; unset for `max` and where there is no file.
std::optional<int64_t> OnlyNumber(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  int64_t number = 0;
  if (!(file >> word) || !absl::SimpleAtoi(word, &number)) return std::nullopt;
  return number;
}

// Lowers `memory` to what the group in `folder` leaves.
void ApplyGroup(const GroupFiles& files, const std::string& folder,
                HostMemory& memory) {
  const auto limit = OnlyNumber(folder + "/" + files.limit);
  if (!limit) return;
  memory.total = std::min(memory.total, Bytes(*limit));
  const auto usage = OnlyNumber(folder + "/" + files.usage);
  if (!usage) return;
  const int64_t reclaimable =
      NumberAfter(folder + "/memory.stat", files.reclaimable).value_or(0);
  const Bytes left(std::max<int64_t>(0, *limit - (*usage - reclaimable)));
  memory.available = std::min(memory.available, left);
}

// Applies the group called `path` and those above it up to the mount's root. A
// container sees its own group as the root, under whatever name it has.
void ApplyGroupAndParents(const GroupFiles& files, const std::string& root,
                          std::string path, HostMemory& memory) {
  const std::string mount = root + files.mount;
  while (!path.empty() && path != "/") {
    ApplyGroup(files, mount + path, memory);
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
  ApplyGroup(files, mount, memory);
}

// Reads lines such as `0::/user.slice` and `5:memory:/user.slice`.
void ApplyControlGroups(const std::string& root, HostMemory& memory) {
  std::ifstream file(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers =
        "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") {
      ApplyGroupAndParents(kVersion2, root, path, memory);
    } else if (controllers.find(",memory,") != std::string::npos) {
      ApplyGroupAndParents(kVersion1, root, path, memory);
    }
  }
}

}  // namespace

absl::StatusOr<HostMemory> ReadHostMemory(const std::string& root) {
  const std::string path = root + "/proc/meminfo";
  const auto total = NumberAfter(path, "MemTotal:");
  const auto available = NumberAfter(path, "MemAvailable:");
  if (!total || !available) {
    return absl::UnavailableError(path +
                                  " does not say how much memory there is");
  }
  HostMemory memory = {.total = KiB(*total), .available = KiB(*available)};
  ApplyControlGroups(root, memory);
  memory.available = std::min(memory.available, memory.total);
  return memory;
}

}  // namespace memplan
