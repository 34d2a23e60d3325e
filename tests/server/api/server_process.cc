#include "tests/server/api/server_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace memplan::testing {
namespace {

constexpr const char* kReady = "ready socket=";

struct Pipe {
  Descriptor reading;
  Descriptor writing;
};

Pipe MakePipe() {
  std::array<int, 2> ends = {};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    std::perror("pipe2");
    std::abort();
  }
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace

ServerProcess::ServerProcess(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), MEMPLAN_SERVER_PROGRAM);
  std::vector<char*> words;
  words.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  Pipe in = MakePipe();
  Pipe err = MakePipe();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.reading.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.writing.get(), STDERR_FILENO);
  const int error =
      posix_spawn(&pid_, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    std::fprintf(stderr, "cannot start %s\n", words[0]);
    std::abort();
  }
  stdin_ = std::move(in.writing);
  stderr_ = std::move(err.reading);
}

ServerProcess::~ServerProcess() {
  if (reaped_) return;
  Signal(SIGKILL);
  (void)WaitForExit();
}

bool ServerProcess::ReadSome() {
  std::array<char, 4096> some;
  const ssize_t count = read(stderr_.get(), some.data(), some.size());
  if (count <= 0) return false;
  words_.append(some.data(), static_cast<size_t>(count));
  return true;
}

std::string ServerProcess::WaitUntilReady() {
  while (true) {
    const size_t begin = words_.find(kReady);
    const size_t end = words_.find('\n', begin);
    if (begin != std::string::npos && end != std::string::npos) {
      return words_.substr(begin, end - begin);
    }
    if (!ReadSome()) return words_;
  }
}

std::string ServerProcess::WaitForWords() {
  while (ReadSome()) {
  }
  return words_;
}

int ServerProcess::WaitForExit() {
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) return -1;
  reaped_ = true;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void ServerProcess::Signal(int signal) const {
  if (!reaped_) (void)kill(pid_, signal);
}

std::string ValueIn(const std::string& ready_line, const std::string& name) {
  const size_t at = ready_line.find(" " + name + "=");
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size() + 2;
  return ready_line.substr(begin,
                           ready_line.find_first_of(" \"", begin) - begin);
}

}  // namespace memplan::testing
