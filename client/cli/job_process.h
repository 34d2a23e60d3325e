// The command of `memplan run` as a child process: signals that reach us are
// passed on to it, and its end is ours.
//
//   before it starts   a signal stops the wait for memory
//   while it runs      a signal goes to it, but for those of the terminal, which
//                      it gets from there
#ifndef MEMPLAN_CLIENT_CLI_JOB_PROCESS_H_
#define MEMPLAN_CLIENT_CLI_JOB_PROCESS_H_

#include <sys/signalfd.h>
#include <sys/types.h>

#include <atomic>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/signal_listener.h"

namespace memplan {

// Make it before any other thread: it blocks the signals, which threads inherit.
// One at a time. The child is not killed with it.
class JobProcess {
 public:
  JobProcess();
  // Puts the old mask back.
  ~JobProcess() = default;
  JobProcess(const JobProcess&) = delete;
  JobProcess& operator=(const JobProcess&) = delete;

  // Asks for a stop at the first signal before Start.
  std::stop_token token() const { return stop_.get_token(); }
  // That signal; 0 if none has come.
  int signal() const { return signal_; }

  // Starts `command` with the variables `added` beside ours. kNotFound if there
  // is no such program, kPermissionDenied if it cannot be run.
  absl::StatusOr<pid_t> Start(const std::vector<std::string>& command,
                              const std::vector<std::string>& added);

  // Waits for its end. Returns its exit code, or 128 plus the signal's number.
  int Wait();

 private:
  void Take(const signalfd_siginfo& info);

  std::stop_source stop_;
  std::atomic<int> signal_ = 0;
  std::mutex mutex_;
  pid_t child_ = 0;  // under mutex_; 0 before its start and after its end
  SignalListener listener_;  // last: uses all of the above
};

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_JOB_PROCESS_H_
