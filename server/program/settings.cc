#include "server/program/settings.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "planner/base/status_macros.h"
#include "server/devices/script_device_source.h"
#include "server/program/host_port.h"

namespace memplan {
namespace {

constexpr const char* kNoAddress = "none";

// HOST:PORT, or `none`, which unsets the variable.
SettingValue AddressOrNone(std::optional<HostPort>& target) {
  SettingValue value;
  value.form = "HOST:PORT|none";
  value.unit = "HOST:PORT, or `none`";
  value.read = [&target](const std::string& text) -> absl::Status {
    if (text == kNoAddress) {
      target.reset();
      return absl::OkStatus();
    }
    MEMPLAN_ASSIGN_OR_RETURN(target, ParseHostPort(text));
    return absl::OkStatus();
  };
  value.write = [&target] {
    return target ? FormatHostPort(*target) : kNoAddress;
  };
  return value;
}

// Whatever way they are written.
bool SamePath(const std::string& one, const std::string& other) {
  if (one.empty() || other.empty()) return false;
  std::error_code error;
  const auto canonical = [&error](const std::string& path) {
    return std::filesystem::weakly_canonical(
        std::filesystem::absolute(path, error), error);
  };
  return one == other || canonical(one) == canonical(other);
}

// `nvml`, or `script:` and the path of a file.
SettingValue DevicesValue(std::string& target) {
  SettingValue value;
  value.form = "nvml|script:FILE";
  value.unit = "`nvml`, or `script:FILE` with made-up devices";
  value.read = [&target](const std::string& text) -> absl::Status {
    if (text != "nvml" && !text.starts_with(kScriptPrefix)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "`", text,
          "`: `nvml` or `script:` and the path of a file is needed"));
    }
    target = text;
    return absl::OkStatus();
  };
  value.write = [&target] { return target; };
  return value;
}

// Permissions in octal digits, such as 0660.
SettingValue ModeValue(int& target) {
  SettingValue value;
  value.form = "MODE";
  value.unit = "octal permissions, 0600 to 0777";
  value.read = [&target](const std::string& text) -> absl::Status {
    constexpr int kOwner = 0600;
    constexpr int kAll = 0777;
    int mode = 0;
    const bool is_octal =
        !text.empty() && text.size() <= 4 &&
        text.find_first_not_of("01234567") == std::string::npos;
    for (const char digit : text) mode = mode * 8 + (digit - '0');
    if (!is_octal || mode > kAll || (mode & kOwner) != kOwner) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", text,
                       "\" are no permissions of a socket; write octal digits "
                       "that let the owner read and write, such as 0660"));
    }
    target = mode;
    return absl::OkStatus();
  };
  value.write = [&target] { return absl::StrFormat("%04o", target); };
  return value;
}

std::vector<Setting> PlaceSettings(ServerOptions& options) {
  return {
      {"store", PathValue(options.store),
       "Folder for models, probes and traces",
       "`/var/lib/memplan` for root, `~/.local/state/memplan` for others; "
       "below "
       "`$XDG_STATE_HOME` where that is set"},
      {"worker", PathValue(options.worker),
       "Path of memplan-worker; none for a daemon that runs no probes",
       "`memplan-worker` beside the daemon"},
      {"sandbox",
       ChoiceValue<SandboxMode>(options.sandbox,
                                {{"require", SandboxMode::kRequire},
                                 {"auto", SandboxMode::kAuto},
                                 {"off", SandboxMode::kOff}}),
       "Whether models are shut in: always, as far as the kernel can, or not"},
      {"worker_memory", BytesValue(options.worker_memory),
       "Host memory that each worker may use, by cgroup v2; 0 is no limit"},
      {"spare_workers", CountValue(options.spare_workers, {0, 16}),
       "Workers kept started and waiting for each GPU that was probed within "
       "10 "
       "minutes; they hold host memory and no GPU memory"},
      {"worker_library_path", TextValue(options.worker_library_path),
       "LD_LIBRARY_PATH of the worker alone, where libtorch is not found "
       "without"},
  };
}

std::vector<Setting> AccessSettings(ServerOptions& options) {
  return {
      {"socket", PathValue(options.socket.path), "Unix socket to listen on",
       "`/run/memplan/memplan.sock` for root, "
       "`$XDG_RUNTIME_DIR/memplan/memplan.sock` for others"},
      {"socket_mode", ModeValue(options.socket.mode),
       "Permissions of the socket: who may write to it may call"},
      {"socket_group", NameOrNone(options.socket.group),
       "Group of the socket; without one that of the daemon"},
      {"observer_socket", PathOrNone(options.observer_socket.path),
       "Unix socket for those who may only read"},
      {"observer_socket_mode", ModeValue(options.observer_socket.mode),
       "Permissions of the observers' socket"},
      {"observer_socket_group", NameOrNone(options.observer_socket.group),
       "Group of the observers' socket; without one that of the daemon"},
      {"listen", AddressOrNone(options.listen),
       "TCP address to listen on as well, beyond loopback only with TLS; port "
       "0 "
       "lets the system choose"},
      {"tls_certificate", PathOrNone(options.tls.certificate),
       "PEM file of the certificate for TCP, followed by those between it and "
       "its CA"},
      {"tls_key", PathOrNone(options.tls.key),
       "PEM file of the certificate's key, without a passphrase"},
      {"tls_client_ca", PathOrNone(options.tls.client_ca),
       "PEM file of the CAs whose clients are let in over TCP"},
      {"tls_reload_interval",
       DurationValue(options.tls.reload_interval,
                     {std::chrono::seconds(1), std::chrono::hours(24)}),
       "How often the three files are looked at for new contents"},
      {"insecure", YesNoValue(options.insecure),
       "Listen beyond loopback without TLS: whoever reaches the port may call"},
      {"metrics", AddressOrNone(options.metrics),
       "Address of the pages /metrics and /healthz, which have no TLS"},
      {"process_series", CountValue(options.process_series, {0, 1000}),
       "Processes on GPUs that have a series on that page, the largest; 0 is "
       "none"},
  };
}

std::vector<Setting> ConnectionSettings(RpcLimits& rpc) {
  using std::chrono::hours;
  using std::chrono::seconds;
  return {
      {"keepalive_interval",
       DurationValue(rpc.keepalive_interval, {seconds(1), hours(24)}),
       "How often a silent client is asked whether it is there"},
      {"keepalive_timeout",
       DurationValue(rpc.keepalive_timeout, {seconds(1), hours(1)}),
       "How long it may take to answer before its connection is closed"},
      {"max_connection_age",
       DurationValue(rpc.max_connection_age, {seconds(1), hours(24 * 24)}),
       "After this a client is asked to connect anew"},
      {"connection_age_grace",
       DurationValue(rpc.connection_age_grace, {seconds(1), hours(24 * 24)}),
       "How long the calls of such a connection may go on"},
      {"max_calls_per_connection",
       CountValue(rpc.max_calls_per_connection, {1, 100'000}),
       "Calls in progress on one connection; more wait in the client"},
  };
}

std::vector<Setting> StoreSettings(ServerOptions& options) {
  using std::chrono::hours;
  using std::chrono::seconds;
  StoreRules& rules = options.store_rules;
  return {
      {"store_max_bytes", BytesValue(rules.max_bytes),
       "The most that models and parts of uploads may take; 0 is no bound"},
      {"store_max_models", CountValue(rules.max_models, {1, 1'000'000}),
       "The most models and parts of uploads there may be"},
      {"upload_max_bytes", BytesValue(rules.upload_max_bytes),
       "The largest model that is taken; 0 is no bound"},
      {"evict_models", YesNoValue(rules.evict_models),
       "Whether the models used least recently make room for an upload"},
      {"part_ttl", DurationValue(rules.part_ttl, {seconds(1), hours(87'600)}),
       "How long the part of a broken upload is kept for its client to go on"},
      {"upload_idle_timeout",
       DurationValue(options.upload_idle_timeout, {seconds(1), hours(24)}),
       "How long an upload may send no message (1 MiB or less) before its "
       "place "
       "is given to others"},
  };
}

std::vector<Setting> ProbeSettings(ServerOptions& options) {
  using std::chrono::hours;
  using std::chrono::seconds;
  Retention& retention = options.jobs.retention;
  return {
      {"devices", DevicesValue(options.devices), "Where the devices are read"},
      {"max_queued_probes", CountValue(options.jobs.max_queued, {1, 1'000'000}),
       "Probes that may wait, all devices together"},
      {"keep_probes", CountValue(retention.keep_probes, {1, 1'000'000}),
       "Ended probes that are kept, with their traces; the last to end"},
      {"keep_probes_for",
       DurationValue(retention.keep_probes_for, {seconds(1), hours(87'600)}),
       "How long ended probes are kept at the most"},
      {"longest_wait",
       DurationValue(options.longest_wait, {seconds(1), hours(24)}),
       "The most that one call of WaitProbe or WaitForMemory waits"},
      {"max_worker_deaths",
       CountValue(options.jobs.workers.most_deaths, {1, 1000}),
       "Workers of one probe that die in a row before it is given up"},
  };
}

std::vector<Setting> AdmissionSettings(ServerOptions& options) {
  using std::chrono::hours;
  using std::chrono::milliseconds;
  AdmissionRules& admission = options.admission;
  return {
      {"headroom", BytesValue(admission.headroom),
       "What stays unused of a device beside jobs that name no headroom"},
      {"min_headroom", BytesValue(admission.min_headroom),
       "What stays unused of a device whatever a job names"},
      {"follow_suggested_headroom", YesNoValue(admission.follow_suggestion),
       "Whether the headroom that ended jobs suggest is kept as well"},
      {"max_staleness",
       DurationValue(admission.max_age, {milliseconds(100), hours(24)}),
       "The oldest reading of a device that a verdict goes by"},
      {"max_reservations",
       CountValue(admission.max_reservations, {1, 1'000'000}),
       "Live reservations and waits for one that are kept"},
      {"max_checks_per_second",
       CountValue(options.max_checks_per_second, {0, 1'000'000}),
       "Calls a second that ask for a verdict or for reservations; eight jobs "
       "of a BatchCheck are one, and more calls are refused; 0 is no bound"},
  };
}

std::vector<Setting> RunningSettings(ServerOptions& options) {
  using std::chrono::hours;
  using std::chrono::seconds;
  return {
      {"expected_gpus", CountValue(options.expected_gpus, {0, 1024}),
       "With fewer GPUs than these the devices count as failing"},
      {"drain_delay",
       DurationValue(options.drain_delay, {seconds(0), hours(1)}),
       "How long health says NOT SERVING, at the end, before new work is "
       "refused"},
      {"drain_grace",
       DurationValue(options.drain_grace, {seconds(0), hours(24)}),
       "How long calls and trials may then go on"},
      {"exit_with_stdin", YesNoValue(options.exit_with_stdin),
       "End when standard input ends, as a private daemon does"},
  };
}

std::vector<Setting> LogSettings(ServerOptions& options) {
  return {
      {"log_format",
       ChoiceValue<LogFormat>(options.log_format, {{"json", LogFormat::kJson},
                                                   {"text", LogFormat::kText}}),
       "How a line of the log is written"},
      {"log_level",
       ChoiceValue<LogLevel>(options.log_level,
                             {{"debug", LogLevel::kDebug},
                              {"info", LogLevel::kInfo},
                              {"warning", LogLevel::kWarning},
                              {"error", LogLevel::kError}}),
       "The lowest level that is logged"},
  };
}

void CheckTlsSettings(const TlsFiles& tls, std::vector<std::string>& wrong) {
  const bool any =
      !tls.certificate.empty() || !tls.key.empty() || !tls.client_ca.empty();
  const bool all =
      !tls.certificate.empty() && !tls.key.empty() && !tls.client_ca.empty();
  if (any && !all) {
    wrong.emplace_back(
        "--tls-certificate, --tls-key and --tls-client-ca go together; give "
        "all three or none");
  } else if (all) {
    const absl::StatusOr<TlsTexts> texts = ReadTls(tls);
    const absl::Status usable =
        texts.ok() ? CheckTls(*texts, tls).status() : texts.status();
    if (!usable.ok()) wrong.emplace_back(usable.message());
  }
}

void CheckAccess(const ServerOptions& options,
                 std::vector<std::string>& wrong) {
  CheckTlsSettings(options.tls, wrong);
  if (options.listen && !IsLoopback(options.listen->host) &&
      !options.tls.given() && !options.insecure) {
    wrong.push_back(absl::StrCat(
        "--listen ", FormatHostPort(*options.listen),
        ": calls would be neither authenticated nor encrypted, so only "
        "loopback hosts (127.0.0.1, ::1, localhost) are taken; give "
        "--tls-certificate, --tls-key and --tls-client-ca, or --insecure if "
        "everybody who reaches the port may call"));
  }
  if (!options.socket.path.empty() &&
      SamePath(options.socket.path, options.observer_socket.path)) {
    wrong.emplace_back(
        "--socket and --observer-socket are the same; they need two paths");
  }
  for (const UnixSocket* socket : {&options.socket, &options.observer_socket}) {
    const auto group = FindGroup(socket->group);
    if (!group.ok()) wrong.emplace_back(group.status().message());
  }
}

}  // namespace

std::vector<SettingGroup> Settings(ServerOptions& options) {
  return {{"Places", PlaceSettings(options)},
          {"Access", AccessSettings(options)},
          {"Connections", ConnectionSettings(options.rpc)},
          {"Store", StoreSettings(options)},
          {"Probes", ProbeSettings(options)},
          {"Admission", AdmissionSettings(options)},
          {"Running", RunningSettings(options)},
          {"Log", LogSettings(options)}};
}

std::vector<std::string> CheckTogether(const ServerOptions& options) {
  std::vector<std::string> wrong;
  CheckAccess(options, wrong);
  if (options.store.empty()) {
    wrong.emplace_back(
        "neither XDG_STATE_HOME nor HOME is set; name a folder with --store");
  }
  if (options.socket.path.empty()) {
    wrong.emplace_back(
        "XDG_RUNTIME_DIR is not set; name a unix socket with --socket");
  }
  return wrong;
}

}  // namespace memplan
