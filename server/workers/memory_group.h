// Bounds the host memory of each worker: one control group (cgroup v2) a trial,
// below the daemon's own, if that one is delegated to it.
//
//   own group ┬ daemon    the daemon: a group that gives its children a
//             │           controller may have no processes itself
//             ├ trial-1   one worker; memory.max
//             └ trial-2
#ifndef MEMPLAN_SERVER_WORKERS_MEMORY_GROUP_H_
#define MEMPLAN_SERVER_WORKERS_MEMORY_GROUP_H_

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/base/bytes.h"
#include "server/base/server_status.h"

namespace memplan {

// Where the kernel tells of control groups, and how they are made and removed:
// 0, or −1 and errno. Tests have others.
struct ControlGroupSystem {
  std::string own_group = "/proc/self/cgroup";
  std::string mounts = "/proc/self/mounts";
  std::function<int(const char* path)> make = [](const char* path) {
    return mkdir(path, 0755);
  };
  std::function<int(const char* path)> remove = [](const char* path) {
    return rmdir(path);
  };
};

// The group of one trial, removed when this is destroyed: destroy the worker
// first. Movable; not thread-safe.
class MemoryGroup {
 public:
  MemoryGroup() = default;  // none, which bounds nothing
  MemoryGroup(std::string path, std::function<int(const char*)> remove);
  ~MemoryGroup();
  MemoryGroup(MemoryGroup&& other) noexcept;
  MemoryGroup& operator=(MemoryGroup&& other) noexcept;

  // Moves the process `pid` into the group; one that has ended is no error.
  // kResourceExhausted, with the system's words.
  absl::Status Add(pid_t pid) const;

  // Whether the kernel killed the group's processes since they wanted more than
  // its limit; not if it did so since the whole host was full.
  bool WasKilledByItsLimit() const;

 private:
  std::string path_;  // empty for none
  std::function<int(const char*)> remove_;
};

// Makes the groups of trials. Thread-safe.
class MemoryGroups {
 public:
  // With a `limit` of 0 touches nothing. Otherwise moves this process into its
  // group's leaf `daemon`, gives the memory controller to the group's children
  // and removes the groups that an earlier daemon left; where that cannot be,
  // leaves this process where it is, and the layer is missing.
  static std::shared_ptr<MemoryGroups> Open(Bytes limit,
                                            ControlGroupSystem system = {});

  // `memory_limit`, a layer of the workers' sandbox.
  const SandboxLayer& layer() const { return layer_; }
  // Of a worker that WasKilledByItsLimit in `phase`, for people.
  std::string KilledText(const std::string& phase) const;

  // A new group with the limit; none unless the layer is in force.
  // kResourceExhausted, with the system's words.
  absl::StatusOr<MemoryGroup> Make();

 private:
  MemoryGroups(Bytes limit, ControlGroupSystem system);
  absl::Status Prepare();

  const Bytes limit_;
  const ControlGroupSystem system_;
  std::string folder_;  // of the group above those of trials
  SandboxLayer layer_;
  std::atomic<int64_t> last_number_ = 0;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_WORKERS_MEMORY_GROUP_H_
