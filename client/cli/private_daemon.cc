#include "client/cli/private_daemon.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "client/cli/environment.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr char kReadyWords[] = "ready socket=";
constexpr milliseconds kExitPoll = milliseconds(5);
// Only a process stuck in a driver survives SIGKILL for long.
constexpr milliseconds kKillPatience = std::chrono::seconds(10);
// The system allows 107 bytes for a socket's path; the folder's name, a slash
// and the socket's take some of them.
constexpr size_t kMaxFolderRoot = 70;

struct Pipe {
  int reading = -1;
  int writing = -1;
};

absl::StatusOr<Pipe> MakePipe() {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return absl::ErrnoToStatus(errno, "cannot make a pipe for memplan-server");
  }
  return Pipe{.reading = ends[0], .writing = ends[1]};
}

// A fresh folder for this user alone.
absl::StatusOr<std::string> MakeFolder() {
  std::string root = EnvironmentValue("TMPDIR");
  if (root.empty() || root.size() > kMaxFolderRoot) root = "/tmp";
  std::string folder = absl::StrCat(root, "/memplan-XXXXXX");
  if (mkdtemp(folder.data()) == nullptr) {
    return absl::ErrnoToStatus(errno,
                               absl::StrCat("cannot make a folder in ", root));
  }
  return folder;
}

// A child with no signal blocked or ignored, in a process group of its own, so
// that a terminal's Ctrl-C reaches this program alone.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK |
                                               POSIX_SPAWN_SETSIGDEF |
                                               POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

// Starts `arguments` with the given standard streams; returns 0 or an errno.
int SpawnWithStreams(const std::vector<std::string>& arguments, int in, int err,
                     pid_t* pid) {
  std::vector<char*> words;
  words.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) {
    words.push_back(const_cast<char*>(argument.c_str()));
  }
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  absl::Cleanup destroy = [&actions] {
    posix_spawn_file_actions_destroy(&actions);
  };
  posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null",
                                   O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  const SpawnAttributes attributes;
  return posix_spawn(pid, words[0], &actions, attributes.get(), words.data(),
                     environ);
}

bool IsProgram(const std::string& path) {
  std::error_code error;
  return access(path.c_str(), X_OK) == 0 &&
         std::filesystem::is_regular_file(path, error);
}

}  // namespace

absl::StatusOr<std::unique_ptr<PrivateDaemon>> PrivateDaemon::Start(
    PrivateDaemonOptions options) {
  MEMPLAN_ASSIGN_OR_RETURN(std::string folder, MakeFolder());
  std::unique_ptr<PrivateDaemon> daemon(
      new PrivateDaemon(std::move(options), std::move(folder)));
  MEMPLAN_RETURN_IF_ERROR(daemon->Spawn());
  MEMPLAN_RETURN_IF_ERROR(daemon->WaitUntilReady());
  return daemon;
}

PrivateDaemon::PrivateDaemon(PrivateDaemonOptions options, std::string folder)
    : options_(std::move(options)),
      folder_(std::move(folder)),
      socket_path_(folder_ + "/memplan.sock") {}

PrivateDaemon::~PrivateDaemon() {
  if (pid_ > 0) {
    Signal(SIGTERM);
    if (!WaitForExit(options_.stop_patience)) {
      Signal(SIGKILL);
      WaitForExit(kKillPatience);
    }
  }
  if (stdin_ >= 0) close(stdin_);
  RemoveFolder();
}

absl::Status PrivateDaemon::Spawn() {
  MEMPLAN_ASSIGN_OR_RETURN(const Pipe in, MakePipe());
  stdin_ = in.writing;
  absl::Cleanup close_in = [&in] { close(in.reading); };
  MEMPLAN_ASSIGN_OR_RETURN(const Pipe err, MakePipe());
  absl::Cleanup close_err = [&err] { close(err.writing); };
  stderr_ = std::make_unique<PipeReader>(err.reading, kReadyWords);
  // It ends with its command, which has cancelled what it waited for; what it
  // says is for people.
  std::vector<std::string> arguments = {options_.program, "--socket",
                                        socket_path_,     "--observer-socket",
                                        "none",           "--listen",
                                        "none",           "--metrics",
                                        "none",           "--exit-with-stdin",
                                        "--drain-grace",  "0",
                                        "--log-format",   "text"};
  arguments.insert(arguments.end(), options_.arguments.begin(),
                   options_.arguments.end());
  if (options_.has_own_store) {
    arguments.insert(arguments.end(), {"--store", folder_ + "/store"});
  }
  const int error = SpawnWithStreams(arguments, in.reading, err.writing, &pid_);
  if (error == 0) return absl::OkStatus();
  pid_ = -1;
  return absl::ErrnoToStatus(
      error, absl::StrCat("cannot start ", options_.program,
                          " as a private daemon; name another with "
                          "MEMPLAN_SERVER, or a running one with --address"));
}

absl::Status PrivateDaemon::WaitUntilReady() {
  switch (stderr_->WaitForLine(options_.start_patience)) {
    case PipeReader::LineWait::kSeen:
      return absl::OkStatus();
    case PipeReader::LineWait::kEnded:
      return absl::UnavailableError(
          absl::StrCat("the private daemon ", options_.program,
                       " ended before it served; it said:\n", LastWords()));
    case PipeReader::LineWait::kTimedOut:
      break;
  }
  return absl::UnavailableError(absl::StrCat(
      "the private daemon ", options_.program, " did not serve within ",
      absl::FormatDuration(absl::FromChrono(options_.start_patience)),
      "; it said:\n", LastWords()));
}

void PrivateDaemon::Signal(int signal) {
  const std::lock_guard lock(mutex_);
  if (pid_ > 0 && !reaped_) kill(pid_, signal);
}

bool PrivateDaemon::WaitForExit(milliseconds patience) {
  const SteadyClock::time_point start = SteadyClock::now();
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      reaped_ = reaped_ || waitpid(pid_, nullptr, WNOHANG) == pid_;
      if (reaped_) return true;
    }
    if (SteadyClock::now() - start >= patience) return false;
    std::this_thread::sleep_for(kExitPoll);
  }
}

void PrivateDaemon::RemoveFolder() const {
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
}

void PrivateDaemon::EndAtOnce() {
  Signal(SIGKILL);
  RemoveFolder();
}

absl::StatusOr<std::string> FindServerProgram() {
  if (std::string named = EnvironmentValue("MEMPLAN_SERVER"); !named.empty()) {
    return named;
  }
  std::error_code error;
  const std::filesystem::path self =
      std::filesystem::read_symlink("/proc/self/exe", error);
  std::vector<std::string> folders =
      absl::StrSplit(EnvironmentValue("PATH"), ':', absl::SkipEmpty());
  if (!error) folders.insert(folders.begin(), self.parent_path());
  for (const std::string& folder : folders) {
    std::string path = absl::StrCat(folder, "/memplan-server");
    if (IsProgram(path)) return path;
  }
  return absl::NotFoundError(absl::StrCat(
      "there is no memplan-server beside ", self.string(),
      " or in PATH to start as a private daemon; name it with MEMPLAN_SERVER, "
      "or a running daemon with --address"));
}

}  // namespace memplan
