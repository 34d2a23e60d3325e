// The command line of memplan-server.
#ifndef MEMPLAN_SERVER_PROGRAM_OPTIONS_H_
#define MEMPLAN_SERVER_PROGRAM_OPTIONS_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "server/program/default_paths.h"
#include "server/program/host_port.h"

namespace memplan {

struct ServerOptions {
  std::string store;                // folder
  std::string socket;               // path
  std::optional<HostPort> listen;   // loopback; unset: the unix socket alone
  std::optional<HostPort> metrics;  // unset: no page
  std::string worker;               // path of memplan-worker
  std::string worker_library_path;  // its LD_LIBRARY_PATH; empty for none
  bool exit_with_stdin = false;
};

// The program is to end at once: it has been asked for help or its version, or
// the command line is wrong.
struct EndAtOnce {
  int exit_code = 0;
  std::string output;  // for stdout
  std::string error;   // for stderr
};

// Reads the arguments after the program's name. What they leave out comes from
// `user` and from where this program lies.
std::variant<ServerOptions, EndAtOnce> ParseOptions(
    std::vector<std::string> arguments, const UserEnvironment& user);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_PROGRAM_OPTIONS_H_
