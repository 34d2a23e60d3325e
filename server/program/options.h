// The command line of memplan-server.
#ifndef MEMPLAN_SERVER_PROGRAM_OPTIONS_H_
#define MEMPLAN_SERVER_PROGRAM_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/base/log.h"
#include "server/program/default_paths.h"
#include "server/program/host_port.h"
#include "server/program/rpc_server.h"

namespace memplan {

// In the place of a worker's path: the daemon is to run no probes.
inline constexpr std::string_view kNoWorker = "none";

struct ServerOptions {
  std::string store;                // folder
  std::string socket;               // path
  std::optional<HostPort> listen;   // loopback; unset: the unix socket alone
  std::optional<HostPort> metrics;  // unset: no page
  std::string worker;               // path of memplan-worker, or kNoWorker
  std::string worker_library_path;  // its LD_LIBRARY_PATH; empty for none
  bool exit_with_stdin = false;
  // With fewer GPUs than these the devices count as failing.
  int64_t expected_gpus = 0;
  LogFormat log_format = LogFormat::kJson;
  LogLevel log_level = LogLevel::kInfo;
  RpcLimits rpc;
  // How long health says NOT SERVING before new work is refused, so that load
  // balancers can turn away; then how long calls and trials may go on.
  std::chrono::milliseconds drain_delay{0};
  std::chrono::milliseconds drain_grace = std::chrono::seconds(10);
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
