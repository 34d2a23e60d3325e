#include "server/workers/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <spdlog/spdlog.h>
#include <string.h>
#include <sys/wait.h>

// glibc 2.36's header does not say that these are C functions.
extern "C" {
#include <sys/pidfd.h>
}

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

absl::Status StartError(int error, const std::string& program) {
  const std::string message = absl::StrCat(
      "cannot start ", program, ": ", std::generic_category().message(error));
  switch (error) {
    case ENOENT:
    case EACCES:
    case EPERM:
    case ENOEXEC:
    case ENOTDIR:
      return absl::FailedPreconditionError(message);
    case EAGAIN:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::InternalError(message);
  }
}

// Copies with numbers above those the child gets, so that putting one in its
// place never overwrites another.
absl::StatusOr<std::vector<Descriptor>> CopiesAbove(
    const std::vector<int>& descriptors, const std::string& program) {
  std::vector<Descriptor> copies;
  for (const int descriptor : descriptors) {
    copies.emplace_back(fcntl(descriptor, F_DUPFD_CLOEXEC,
                              static_cast<int>(descriptors.size())));
    if (!copies.back().is_open()) return StartError(errno, program);
  }
  return copies;
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

// Own group, no blocked signals, default handlers.
int SetAttributes(posix_spawnattr_t* attributes) {
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setpgroup(attributes, 0);
  posix_spawnattr_setsigmask(attributes, &none);
  posix_spawnattr_setsigdefault(attributes, &all);
  return posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP |
                                                  POSIX_SPAWN_SETSIGMASK |
                                                  POSIX_SPAWN_SETSIGDEF);
}

// Puts `copies` at 0, 1, 2, … and closes whatever else the daemon has open.
int SetDescriptors(posix_spawn_file_actions_t* actions,
                   const std::vector<Descriptor>& copies) {
  int number = 0;
  for (const Descriptor& copy : copies) {
    if (const int error =
            posix_spawn_file_actions_adddup2(actions, copy.get(), number++)) {
      return error;
    }
  }
  return posix_spawn_file_actions_addclosefrom_np(actions, number);
}

absl::StatusOr<pid_t> Spawn(const ChildCommand& command,
                            const std::vector<Descriptor>& copies) {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  if (const int error = posix_spawnattr_init(&attributes)) {
    return StartError(error, command.program);
  }
  const absl::Cleanup destroy_attributes = [&] {
    posix_spawnattr_destroy(&attributes);
  };
  if (const int error = posix_spawn_file_actions_init(&actions)) {
    return StartError(error, command.program);
  }
  const absl::Cleanup destroy_actions = [&] {
    posix_spawn_file_actions_destroy(&actions);
  };
  int error = SetAttributes(&attributes);
  if (error == 0) error = SetDescriptors(&actions, copies);
  std::vector<std::string> words = {command.program};
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  pid_t pid = 0;
  if (error == 0) {
    error = posix_spawn(&pid, command.program.c_str(), &actions, &attributes,
                        Pointers(words).data(),
                        Pointers(command.environment).data());
  }
  if (error != 0) return StartError(error, command.program);
  return pid;
}

std::string SignalName(int number) {
  const char* name = sigdescr_np(number);
  return name != nullptr ? name : "unknown";
}

}  // namespace

std::string EndText(const ChildEnd& end) {
  if (!end.by_signal) return absl::StrCat("ended with exit code ", end.number);
  return absl::StrCat(
      "was killed by signal ", end.number, " (", SignalName(end.number), ")",
      end.number == SIGKILL ? ", as the system does when the host's memory is "
                              "full"
                            : "");
}

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const ChildCommand& command) {
  MEMPLAN_ASSIGN_OR_RETURN(const std::vector<Descriptor> copies,
                           CopiesAbove(command.descriptors, command.program));
  MEMPLAN_ASSIGN_OR_RETURN(const pid_t pid, Spawn(command, copies));
  // Nobody but this object reaps it, so that the pid cannot be another's yet.
  Descriptor ended(pidfd_open(pid, 0));
  const int error = errno;
  const bool is_open = ended.is_open();
  std::unique_ptr<ChildProcess> child(new ChildProcess(pid, std::move(ended)));
  if (!is_open) return StartError(error, command.program);
  return child;
}

ChildProcess::ChildProcess(pid_t pid, Descriptor ended)
    : pid_(pid), ended_(std::move(ended)) {}

ChildProcess::~ChildProcess() { Kill(); }

std::optional<ChildEnd> ChildProcess::WaitUntil(
    std::chrono::steady_clock::time_point deadline, int wake) {
  while (!end_) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    std::array<pollfd, 2> wait = {
        {{ended_.get(), POLLIN, 0}, {wake, POLLIN, 0}}};
    const int ready =
        poll(wait.data(), wait.size(),
             static_cast<int>(std::clamp<int64_t>(
                 left.count(), 0, std::numeric_limits<int>::max())));
    if (ready < 0 && errno == EINTR) continue;
    if (wait[0].revents == 0) {
      const bool again =
          ready == 0 && std::chrono::steady_clock::now() < deadline;
      if (again) continue;
      return std::nullopt;
    }
    end_ = Reap();
  }
  return end_;
}

ChildEnd ChildProcess::Kill() {
  if (!end_) end_ = KillAndReap();
  return *end_;
}

ChildEnd ChildProcess::KillAndReap() {
  (void)kill(-pid_, SIGKILL);
  (void)kill(pid_, SIGKILL);  // should it have left its group
  if (!ended_.is_open()) return Reap();
  const auto end = WaitUntil(std::chrono::steady_clock::now() + kKillPatience);
  if (end) return *end;
  spdlog::error("process {} was killed, but is still there after {} s", pid_,
                kKillPatience.count());
  return {true, SIGKILL};
}

// Takes note of its end, which has come. The group is killed while the child is
// a zombie: until it is reaped, its number is the group's alone.
ChildEnd ChildProcess::Reap() {
  siginfo_t info{};
  (void)kill(-pid_, SIGKILL);
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0 &&
         errno == EINTR) {
  }
  return {info.si_code != CLD_EXITED, info.si_status};
}

}  // namespace memplan
