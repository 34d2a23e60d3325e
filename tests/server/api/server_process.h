// memplan-server as a process of a test: on a private folder, ended with the
// object.
#ifndef MEMPLAN_TESTS_SERVER_API_SERVER_PROCESS_H_
#define MEMPLAN_TESTS_SERVER_API_SERVER_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "server/base/descriptor.h"

namespace memplan::testing {

// Not thread-safe.
class ServerProcess {
 public:
  // Starts memplan-server with the arguments; they say where it listens.
  explicit ServerProcess(std::vector<std::string> arguments);
  // Kills it if it still runs.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Waits until it says that it is ready and returns that line; what it has said
  // so far if it ends without.
  std::string WaitUntilReady();
  // Everything it has written to stderr; waits for its end.
  std::string WaitForWords();
  // Waits for its end; the exit code, or the negative number of a signal.
  int WaitForExit();

  void Signal(int signal) const;
  void CloseStdin() { stdin_.Close(); }
  pid_t pid() const { return pid_; }

 private:
  bool ReadSome();

  pid_t pid_ = -1;
  bool reaped_ = false;
  Descriptor stdin_;
  Descriptor stderr_;
  std::string words_;
};

// The value of `name=` in a ready line.
std::string ValueIn(const std::string& ready_line, const std::string& name);

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SERVER_API_SERVER_PROCESS_H_
