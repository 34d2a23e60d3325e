#include "client/cli/job_process.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

extern char** environ;

namespace memplan {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

// Ours, with `added` in place of those of the same name.
std::vector<std::string> Environment(const std::vector<std::string>& added) {
  std::vector<std::string> all = added;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const std::string name = text.substr(0, text.find('=') + 1);
    bool replaced = false;
    for (const std::string& other : added) {
      replaced = replaced || other.starts_with(name);
    }
    if (!replaced) all.push_back(text);
  }
  return all;
}

absl::Status CannotStart(int error, const std::string& program) {
  const std::string message =
      absl::StrCat("cannot run ", program, ": ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(message)
                         : absl::PermissionDeniedError(message);
}

}  // namespace

JobProcess::JobProcess()
    : listener_({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2},
                [this](const signalfd_siginfo& info) { Take(info); }) {}

void JobProcess::Take(const signalfd_siginfo& info) {
  const auto signal = static_cast<int>(info.ssi_signo);
  const std::lock_guard lock(mutex_);
  if (child_ != 0) {
    // The terminal sends to the whole group, the child among it.
    if (info.ssi_code != SI_KERNEL) kill(child_, signal);
  } else if (signal_ == 0) {
    signal_ = signal;
    stop_.request_stop();
  }
}

absl::StatusOr<pid_t> JobProcess::Start(const std::vector<std::string>& command,
                                        const std::vector<std::string>& added) {
  const std::vector<std::string> environment = Environment(added);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &listener_.old_mask());
  pid_t pid = 0;
  const std::lock_guard lock(mutex_);
  const int error =
      posix_spawnp(&pid, command.front().c_str(), nullptr, &attributes,
                   Pointers(command).data(), Pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return CannotStart(error, command.front());
  child_ = pid;
  return pid;
}

int JobProcess::Wait() {
  pid_t pid = 0;
  {
    const std::lock_guard lock(mutex_);
    pid = child_;
  }
  // First without taking its remains, so that its number stays its own as long
  // as a signal may go there.
  siginfo_t ended;
  while (waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT) !=
             0 &&
         errno == EINTR) {
  }
  const std::lock_guard lock(mutex_);
  child_ = 0;
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace memplan
