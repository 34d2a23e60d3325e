// What memplan-server is told: by its command line, its environment and a file
// of settings. settings.h has the table of them.
#ifndef MEMPLAN_SERVER_PROGRAM_OPTIONS_H_
#define MEMPLAN_SERVER_PROGRAM_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "planner/base/bytes.h"
#include "server/admission/admission.h"
#include "server/base/log.h"
#include "server/jobs/probe_jobs.h"
#include "server/program/default_paths.h"
#include "server/program/host_port.h"
#include "server/program/published_socket.h"
#include "server/program/rpc_server.h"
#include "server/program/tls.h"
#include "server/store/store_quota.h"
#include "server/workers/sandbox_status.h"

namespace memplan {

// In the place of a worker's path: the daemon is to run no probes.
inline constexpr std::string_view kNoWorker = "none";

struct ServerOptions {
  std::string store;  // folder
  UnixSocket socket;
  UnixSocket observer_socket;  // no path: none
  // Beyond loopback only with `tls` or `insecure`; unset: unix sockets alone.
  std::optional<HostPort> listen = HostPort{"127.0.0.1", 7070};
  TlsFiles tls;  // of `listen`
  bool insecure = false;
  // Unset: no page.
  std::optional<HostPort> metrics = HostPort{"127.0.0.1", 9464};
  int64_t process_series = 0;       // of processes on the page; 0: none
  std::string worker;               // path of memplan-worker, or kNoWorker
  std::string worker_library_path;  // its LD_LIBRARY_PATH; empty for none
  // Where the devices are read: `nvml`, or `script:FILE` with made-up ones.
  std::string devices = "nvml";
  // `read_device` is the daemon's own to set.
  ProbeJobs::Options jobs;
  std::chrono::milliseconds longest_wait = std::chrono::minutes(5);
  AdmissionRules admission;
  int64_t max_checks_per_second = 5000;      // 0: no bound
  SandboxMode sandbox = SandboxMode::kAuto;  // of the workers
  Bytes worker_memory{0};     // host memory that each worker may use; 0: any
  int64_t spare_workers = 2;  // for each GPU in use, unless that is made up
  bool exit_with_stdin = false;
  // With fewer GPUs than these the devices count as failing.
  int64_t expected_gpus = 0;
  LogFormat log_format = LogFormat::kJson;
  LogLevel log_level = LogLevel::kInfo;
  RpcLimits rpc;
  StoreRules store_rules;
  // Uploads that send nothing for this long lose their place.
  std::chrono::milliseconds upload_idle_timeout = std::chrono::minutes(1);
  // How long health says NOT SERVING before new work is refused, so that load
  // balancers can turn away; then how long calls and trials may go on.
  std::chrono::milliseconds drain_delay{0};
  std::chrono::milliseconds drain_grace = std::chrono::seconds(10);
};

// The program is to end at once: it has been asked for help, its version or its
// settings, or they are wrong.
struct EndAtOnce {
  int exit_code = 0;
  std::string output;  // for stdout
  std::string error;   // for stderr
};

// Reads the arguments after the program's name, then what `user` has and the file
// of settings. The other defaults come from where this program lies.
std::variant<ServerOptions, EndAtOnce> ParseOptions(
    std::vector<std::string> arguments, const UserEnvironment& user);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_PROGRAM_OPTIONS_H_
