#include "server/workers/memory_group.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/base/format.h"
#include "planner/base/status_macros.h"
#include "server/base/descriptor.h"

namespace memplan {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLeaf = "daemon";
constexpr const char* kTrialPrefix = "trial-";
// A group is empty a moment after its last process was waited for.
constexpr int kRemoveTries = 100;
constexpr std::chrono::milliseconds kRemovePause(5);

std::string Words(int error) { return std::generic_category().message(error); }

// Writes a file of the kernel's; 0, or what errno says. Makes no file.
int WriteFile(const std::string& path, const std::string& text) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return errno;
  return write(file.get(), text.data(), text.size()) < 0 ? errno : 0;
}

bool HasWord(const std::string& path, std::string_view wanted) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    if (word == wanted) return true;
  }
  return false;
}

// The number behind `key` in a file of lines such as `oom_kill 1`; else 0.
int64_t NumberAfter(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  std::string name;
  int64_t number = 0;
  while (file >> name >> number) {
    if (name == key) return number;
  }
  return 0;
}

int RemoveGroup(const std::string& path,
                const std::function<int(const char*)>& remove) {
  int error = 0;
  for (int tried = 0; tried < kRemoveTries; ++tried) {
    if (remove(path.c_str()) == 0) return 0;
    error = errno;
    if (error != EBUSY) return error;
    std::this_thread::sleep_for(kRemovePause);
  }
  return error;
}

// The path of this process's group in cgroup v2, as in `0::/system.slice`.
absl::StatusOr<std::string> OwnGroup(const std::string& own_group) {
  constexpr std::string_view kVersion2 = "0::";
  std::ifstream file(own_group);
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with(kVersion2)) continue;
    std::string path = line.substr(kVersion2.size());
    if (path.starts_with("/..")) break;  // above what this container sees
    return path == "/" ? "" : path;
  }
  return absl::NotFoundError("this process is in no cgroup v2 that it can see");
}

// The folder of this process's group, below where cgroup v2 is mounted: a mount
// that can be written, if there are several.
absl::StatusOr<std::string> OwnFolder(const ControlGroupSystem& system) {
  MEMPLAN_ASSIGN_OR_RETURN(const std::string group, OwnGroup(system.own_group));
  std::ifstream file(system.mounts);
  std::string line;
  std::string found;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string device;
    std::string folder;
    std::string type;
    if (!(words >> device >> folder >> type) || type != "cgroup2") continue;
    folder += group;
    const std::string processes = folder + "/cgroup.procs";
    if (access(processes.c_str(), W_OK) == 0) return folder;
    if (found.empty() && access(processes.c_str(), F_OK) == 0) found = folder;
  }
  if (!found.empty()) return found;
  return absl::NotFoundError("cgroup v2 is not mounted here");
}

// Whether the group may be divided, judged without changing anything.
absl::Status CheckDelegated(const std::string& folder) {
  if (!HasWord(folder + "/cgroup.controllers", "memory")) {
    return absl::NotFoundError(absl::StrCat(
        "the control group ", folder,
        " has no memory controller (it is not delegated, or cgroup v1 has "
        "it)"));
  }
  for (const char* file : {"", "/cgroup.procs", "/cgroup.subtree_control"}) {
    if (access((folder + file).c_str(), W_OK) != 0) {
      return absl::PermissionDeniedError(
          absl::StrCat("the control group ", folder,
                       " is not this daemon's to divide: ", Words(errno)));
    }
  }
  std::ifstream processes(folder + "/cgroup.procs");
  int64_t pid = 0;
  while (processes >> pid) {
    if (pid == getpid()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the control group ", folder, " has other processes (",
                     pid, "), so it cannot be divided"));
  }
  return absl::OkStatus();
}

// Moves this process into the leaf, and gives the memory controller to the
// children of `folder`.
absl::Status Divide(const std::string& folder,
                    const ControlGroupSystem& system) {
  const std::string leaf = absl::StrCat(folder, "/", kLeaf);
  const std::string self = absl::StrCat(getpid());
  if (system.make(leaf.c_str()) != 0 && errno != EEXIST) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot make ", leaf, ": ", Words(errno)));
  }
  int error = WriteFile(leaf + "/cgroup.procs", self);
  if (error != 0) {
    (void)system.remove(leaf.c_str());
    return absl::PermissionDeniedError(
        absl::StrCat("cannot go to ", leaf, ": ", Words(error)));
  }
  error = WriteFile(folder + "/cgroup.subtree_control", "+memory");
  if (error == 0) return absl::OkStatus();
  if (WriteFile(folder + "/cgroup.procs", self) == 0) {
    (void)RemoveGroup(leaf, system.remove);
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the children of ", folder,
                   " do not get the memory controller: ", Words(error)));
}

// Removes the groups of an earlier daemon's trials.
void Sweep(const std::string& folder, const ControlGroupSystem& system) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!entry.path().filename().string().starts_with(kTrialPrefix)) continue;
    if (system.remove(entry.path().c_str()) != 0) {
      spdlog::warn("the control group {} of an earlier daemon stays: {}",
                   entry.path().string(), Words(errno));
    }
  }
}

// Writes those limits that this kernel has; memory.max it must have.
int Bound(const std::string& path, Bytes limit) {
  for (const auto& [file, text] :
       {std::pair("/memory.swap.max", "0"), {"/memory.oom.group", "1"}}) {
    const int error = WriteFile(path + file, text);
    if (error != 0 && error != ENOENT) return error;
  }
  return WriteFile(path + "/memory.max", absl::StrCat(limit.count()));
}

absl::Status Exhausted(std::string_view what, const std::string& path,
                       int error) {
  return absl::ResourceExhaustedError(absl::StrCat("cannot ", std::string(what),
                                                   " the control group ", path,
                                                   ": ", Words(error)));
}

}  // namespace

MemoryGroup::MemoryGroup(std::string path,
                         std::function<int(const char*)> remove)
    : path_(std::move(path)), remove_(std::move(remove)) {}

MemoryGroup::~MemoryGroup() {
  if (path_.empty()) return;
  if (const int error = RemoveGroup(path_, remove_); error != 0) {
    spdlog::warn(
        "the control group {} is not removed: {}; it is tried again at the "
        "next start",
        path_, Words(error));
  }
}

MemoryGroup::MemoryGroup(MemoryGroup&& other) noexcept
    : path_(std::exchange(other.path_, "")),
      remove_(std::move(other.remove_)) {}

MemoryGroup& MemoryGroup::operator=(MemoryGroup&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(remove_, other.remove_);
  return *this;
}

absl::Status MemoryGroup::Add(pid_t pid) const {
  if (path_.empty()) return absl::OkStatus();
  const int error = WriteFile(path_ + "/cgroup.procs", absl::StrCat(pid));
  if (error == 0 || error == ESRCH) return absl::OkStatus();
  return Exhausted("put a worker into", path_, error);
}

bool MemoryGroup::WasKilledByItsLimit() const {
  // `oom_kill` counts kills for the host's sake too; `oom` this limit alone
  // (Documentation/admin-guide/cgroup-v2.rst, memory.events).
  const std::string events = path_ + "/memory.events";
  return !path_.empty() && NumberAfter(events, "oom_kill") > 0 &&
         NumberAfter(events, "oom") > 0;
}

std::shared_ptr<MemoryGroups> MemoryGroups::Open(Bytes limit,
                                                 ControlGroupSystem system) {
  std::shared_ptr<MemoryGroups> groups(
      new MemoryGroups(limit, std::move(system)));
  SandboxLayer& layer = groups->layer_;
  layer.name = "memory_limit";
  if (limit == Bytes(0)) {
    layer.state = LayerState::kOff;
    layer.detail = "worker_memory is 0";
    return groups;
  }
  if (const absl::Status prepared = groups->Prepare(); prepared.ok()) {
    layer.state = LayerState::kInForce;
    layer.detail =
        absl::StrCat(FormatBytes(limit), " a worker, below ", groups->folder_);
  } else {
    layer.state = LayerState::kMissing;
    layer.detail = absl::StrCat(
        prepared.message(),
        "; run the daemon as a service with Delegate=memory on a system with "
        "cgroup v2");
    spdlog::warn("worker_memory bounds no worker: {}", layer.detail);
  }
  return groups;
}

MemoryGroups::MemoryGroups(Bytes limit, ControlGroupSystem system)
    : limit_(limit), system_(std::move(system)) {}

absl::Status MemoryGroups::Prepare() {
  MEMPLAN_ASSIGN_OR_RETURN(folder_, OwnFolder(system_));
  const fs::path own(folder_);
  const std::string above = own.parent_path().string();
  // Who started it may have put it into the leaf (DelegateSubgroup=daemon).
  const bool in_leaf = own.filename() == kLeaf && CheckDelegated(above).ok();
  if (in_leaf) folder_ = above;
  MEMPLAN_RETURN_IF_ERROR(CheckDelegated(folder_));
  MEMPLAN_RETURN_IF_ERROR(Divide(folder_, system_));
  Sweep(folder_, system_);
  return absl::OkStatus();
}

std::string MemoryGroups::KilledText(const std::string& phase) const {
  return absl::StrCat(
      "the worker was killed in its phase `", phase,
      "` since it used more host memory than memplan-server's worker_memory, ",
      FormatBytes(limit_), "; raise it, or set it to 0 for no limit");
}

absl::StatusOr<MemoryGroup> MemoryGroups::Make() {
  if (layer_.state != LayerState::kInForce) return MemoryGroup();
  std::string path;
  int error = EEXIST;  // one that an earlier daemon left, and nobody removed
  while (error == EEXIST) {
    path = absl::StrCat(folder_, "/", kTrialPrefix, ++last_number_);
    error = system_.make(path.c_str()) == 0 ? 0 : errno;
  }
  if (error != 0) return Exhausted("make", path, error);
  MemoryGroup group(path, system_.remove);
  error = Bound(path, limit_);
  if (error != 0) return Exhausted("bound", path, error);
  return group;
}

}  // namespace memplan
