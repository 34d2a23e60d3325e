// A folder that imitates a tree of control groups: a made group gets its files
// from here, as the kernel would give them, and a removed one loses them.
#ifndef MEMPLAN_TESTS_SERVER_CORE_FAKE_CONTROL_GROUPS_H_
#define MEMPLAN_TESTS_SERVER_CORE_FAKE_CONTROL_GROUPS_H_

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "server/workers/memory_group.h"
#include "tests/support/temp_dir.h"

namespace memplan::testing {

// Of a process whose group is `/unit`. Outlives the system it hands out; not
// thread-safe.
class FakeControlGroups {
 public:
  FakeControlGroups() {
    Write("own_group", "1:name=systemd:/\n0::/unit\n");
    Write("mounts", "proc /proc proc rw 0 0\ncgroup2 " + temp_.Path("tree") +
                        " cgroup2 rw,nosuid 0 0\n");
    std::filesystem::create_directories(temp_.Path("tree/unit"));
    Write("tree/unit/cgroup.controllers", "cpu memory pids\n");
    Write("tree/unit/cgroup.procs", "");
    Write("tree/unit/cgroup.subtree_control", "");
  }

  ControlGroupSystem system() {
    return {.own_group = temp_.Path("own_group"),
            .mounts = temp_.Path("mounts"),
            .make = [this](const char* path) { return Make(path); },
            .remove = [this](const char* path) { return Remove(path); }};
  }

  // What a group has when it is made, by the file's name.
  std::map<std::string, std::string> new_group = {
      {"cgroup.controllers", "memory\n"},
      {"cgroup.procs", ""},
      {"cgroup.subtree_control", ""},
      {"memory.max", ""},
      {"memory.swap.max", ""},
      {"memory.oom.group", ""},
      {"memory.events", "oom 0\noom_kill 0\n"}};
  int busy_times = 0;  // how often a removal is refused first
  int removed = 0;     // groups

  std::string Path(const std::string& name) const { return temp_.Path(name); }
  // A file of the group `/unit`, or of one below it.
  std::string Read(const std::string& name) const {
    std::ifstream file(temp_.Path("tree/unit/" + name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool Has(const std::string& name) const {
    return std::filesystem::exists(temp_.Path("tree/unit/" + name));
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(temp_.Path(name)) << text;
  }
  int Make(const std::string& path) {
    if (std::filesystem::exists(path)) {
      errno = EEXIST;
      return -1;
    }
    std::filesystem::create_directory(path);
    for (const auto& [name, text] : new_group) {
      std::ofstream(path + "/" + name) << text;
    }
    return 0;
  }

 private:
  int Remove(const std::string& path) {
    if (busy_times > 0) {
      --busy_times;
      errno = EBUSY;
      return -1;
    }
    std::filesystem::remove_all(path);
    ++removed;
    return 0;
  }

  TempDir temp_;
};

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SERVER_CORE_FAKE_CONTROL_GROUPS_H_
