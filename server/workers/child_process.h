// A child process in a group of its own, started without fork (gRPC allows
// none): it gets the descriptors it is given and no others, default signals and
// a given environment. It does not outlive this object or stay a zombie, unless
// the kernel itself keeps it (a driver that hangs).
#ifndef MEMPLAN_SERVER_WORKERS_CHILD_PROCESS_H_
#define MEMPLAN_SERVER_WORKERS_CHILD_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/descriptor.h"

namespace memplan {

// How long a killed process may take to be gone.
inline constexpr std::chrono::seconds kKillPatience(10);

struct ChildCommand {
  std::string program;                   // a path, not searched for
  std::vector<std::string> environment;  // NAME=value
  // What the child has as descriptors 0, 1, 2, … They stay the caller's.
  std::vector<int> descriptors;
  std::vector<std::string> arguments = {};  // after the program's name
};

// How a process ended: by itself with an exit code, or by a signal.
struct ChildEnd {
  bool by_signal = false;
  int number = 0;  // the code or the signal
  friend bool operator==(const ChildEnd&, const ChildEnd&) = default;
};

// `ended with exit code 3`, `was killed by signal 9 (Killed), as …`.
std::string EndText(const ChildEnd& end);

// Not thread-safe.
class ChildProcess {
 public:
  // kFailedPrecondition if the program is missing or cannot be executed,
  // kResourceExhausted for want of memory, processes or descriptors, else
  // kInternal.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      const ChildCommand& command);
  // Kills it if it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }

  // Waits until it has ended, or nothing once `deadline` has passed or `wake`
  // (−1 for none) is readable. What is left of its group when it has ended is
  // killed.
  std::optional<ChildEnd> WaitUntil(
      std::chrono::steady_clock::time_point deadline, int wake = -1);

  // Kills its whole group, waits for it, and says how it ended: it may have been
  // faster. Gives up after kKillPatience, so that a process that cannot die does
  // not hold the daemon as well.
  ChildEnd Kill();

 private:
  ChildProcess(pid_t pid, Descriptor ended);
  ChildEnd KillAndReap();
  ChildEnd Reap();

  const pid_t pid_;
  const Descriptor ended_;  // a pidfd: readable once the child has ended
  std::optional<ChildEnd> end_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_WORKERS_CHILD_PROCESS_H_
