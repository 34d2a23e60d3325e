// A daemon for one command: memplan-server on a unix socket in a fresh folder of
// its own. It ends when its standard input closes, so that it cannot outlive
// this process, however that ends.
#ifndef MEMPLAN_CLIENT_CLI_PRIVATE_DAEMON_H_
#define MEMPLAN_CLIENT_CLI_PRIVATE_DAEMON_H_

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/pipe_reader.h"

namespace memplan {

struct PrivateDaemonOptions {
  std::string program;  // the path of memplan-server
  // Besides what Start itself passes: socket, no network, exit with stdin.
  std::vector<std::string> arguments = {};
  // Give it a store in its own folder, which ends with it.
  bool has_own_store = false;
  std::chrono::milliseconds start_patience = std::chrono::seconds(20);
  std::chrono::milliseconds stop_patience = std::chrono::seconds(10);
};

// Thread-safe.
class PrivateDaemon {
 public:
  // Starts the daemon and waits until it says that it serves. kNotFound if the
  // program cannot be started, kUnavailable if it ends first or says nothing
  // within `start_patience`; the message has what it wrote to stderr.
  static absl::StatusOr<std::unique_ptr<PrivateDaemon>> Start(
      PrivateDaemonOptions options);

  // Asks it to end (SIGTERM), waits `stop_patience`, then forces it (SIGKILL);
  // removes its folder.
  ~PrivateDaemon();
  PrivateDaemon(const PrivateDaemon&) = delete;
  PrivateDaemon& operator=(const PrivateDaemon&) = delete;

  const std::string& socket_path() const { return socket_path_; }
  pid_t pid() const { return pid_; }

  // The last that it wrote to stderr.
  std::string LastWords() const { return stderr_->Tail(); }

  // Forces it to end and removes its folder, without waiting.
  void EndAtOnce();

 private:
  PrivateDaemon(PrivateDaemonOptions options, std::string folder);
  absl::Status Spawn();
  absl::Status WaitUntilReady();
  void Signal(int signal);
  bool WaitForExit(std::chrono::milliseconds patience);
  void RemoveFolder() const;

  const PrivateDaemonOptions options_;
  const std::string folder_;
  const std::string socket_path_;
  std::mutex mutex_;     // guards the next two
  pid_t pid_ = -1;       // −1 before the start
  bool reaped_ = false;  // the pid may by now be somebody else's
  int stdin_ = -1;       // our end of its standard input
  std::unique_ptr<PipeReader> stderr_;
};

// The memplan-server to start: $MEMPLAN_SERVER, else the one beside this
// program, else the first in $PATH. kNotFound, with what was tried.
absl::StatusOr<std::string> FindServerProgram();

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_PRIVATE_DAEMON_H_
