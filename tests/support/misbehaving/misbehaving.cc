// libmemplan-misbehaving.so: loaded into a worker with LD_PRELOAD, it lets a
// TorchScript model do what only native code can. Opening the file
// `/misbehave/WHAT` does WHAT and fails with the error that this met, or with
// ENOENT if it met none, so that `torch.from_file("/misbehave/socket", …)` fails
// with "Operation not permitted" where the sandbox holds. Plain C functions, no
// C++ runtime: it must load anywhere.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr char kPrefix[] = "/misbehave/";

long Execute() {
  char* const nothing[] = {nullptr};
  return syscall(SYS_execve, "/bin/true", nothing, nothing);
}

// Each returns −1 with errno set if it was refused.
long Do(const char* what) {
  if (strcmp(what, "socket") == 0) return socket(AF_INET, SOCK_STREAM, 0);
  if (strcmp(what, "execve") == 0) return Execute();
  if (strcmp(what, "fork") == 0) {
    const long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) _exit(0);
    return child;
  }
  if (strcmp(what, "ptrace") == 0) {
    return ptrace(PTRACE_SEIZE, getppid(), nullptr, nullptr);
  }
  // Signal 0: only whether one could be sent.
  if (strcmp(what, "kill") == 0) return kill(getppid(), 0);
  errno = ENOSYS;
  return -1;
}

using OpenFunction = int (*)(const char*, int, ...);

int OpenOr(const char* name, const char* path, int flags, mode_t mode) {
  const size_t prefix = sizeof(kPrefix) - 1;
  if (strncmp(path, kPrefix, prefix) == 0) {
    if (Do(path + prefix) >= 0) errno = ENOENT;
    return -1;
  }
  const auto next = reinterpret_cast<OpenFunction>(dlsym(RTLD_NEXT, name));
  return next(path, flags, mode);
}

mode_t ModeIn(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeIn(flags, arguments);
  va_end(arguments);
  return OpenOr("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeIn(flags, arguments);
  va_end(arguments);
  return OpenOr("open64", path, flags, mode);
}

}  // extern "C"
