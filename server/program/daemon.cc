#include "server/program/daemon.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "server/base/reason.h"
#include "server/convert/recorded_trace.h"
#include "server/devices/context_reading.h"
#include "server/devices/script_device_source.h"
#include "server/jobs/device_room.h"
#include "server/program/liveness.h"
#include "server/program/part_health.h"
#include "server/program/socket_path.h"
#include "server/program/tls.h"
#include "server/services/call_observer.h"
#include "server/services/observer_services.h"
#include "server/store/sparse_file.h"
#include "server/workers/scratch_folders.h"

namespace memplan {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A driver that no process holds open takes seconds a GPU to start. Less than
// calls wait for the first reading, so that they hear of a device that hangs.
constexpr DeviceMonitor::Timing kDeviceTiming = {.interval = seconds(2),
                                                 .deadline = seconds(8)};
// How long a trial waits for a driver to say what its process holds.
constexpr milliseconds kContextPatience = seconds(5);
// How often the parts are looked at.
constexpr milliseconds kPartInterval = seconds(2);
// How often an ending daemon looks whether calls are in progress, and what is
// left to answers on their way once none is, or the grace is over.
constexpr milliseconds kCallPoll = milliseconds(10);
constexpr milliseconds kLastPatience = milliseconds(500);
// How long it waits for readings of devices at most; one takes milliseconds.
constexpr milliseconds kReadingPatience = seconds(2);
// At most eight uploads and a few short calls wait for the disk at a time.
constexpr int kDiskThreads = 2;
constexpr size_t kDiskQueue = 256;
// Replays compute; one at a time leaves the other cores to calls and trials.
constexpr int kReplayThreads = 1;
constexpr size_t kReplayQueue = 16;

// What workers may write of a trace, with room to spare.
constexpr int64_t kMostTraceBytes = int64_t{1} << 30;

absl::StatusOr<Trace> ReadTrace(const std::string& path) {
  MEMPLAN_ASSIGN_OR_RETURN(const SparseFile file,
                           SparseFile::Read(path, kMostTraceBytes));
  return ReadRecordedTrace(file.bytes());
}

// Reads what a worker that is about to start on `device_id` will hold outside
// its allocator.
ContextReader BeginContext(DeviceMonitor& devices,
                           const std::string& device_id) {
  const DeviceReading before = devices.ReadNow(device_id, kContextPatience);
  if (!before.ok()) return {};
  return [&devices, device_id, before = *before](
             int64_t pid, Bytes reserved) -> std::optional<ContextReading> {
    const DeviceReading now = devices.ReadNow(device_id, kContextPatience);
    if (!now.ok()) return std::nullopt;
    return ReadContext(*before, **now, {.pid = pid, .reserved = reserved});
  };
}

// gRPC's own end waits as long for clients that are connected and say nothing as
// for calls.
void WaitForCalls(const CallCounts& calls,
                  std::chrono::steady_clock::time_point deadline) {
  while (calls.InProgress() > 0 &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kCallPoll);
  }
}

absl::StatusOr<DeviceSources> SourcesOf(const std::string& devices) {
  if (!devices.starts_with(kScriptPrefix)) return SystemDeviceSources();
  MEMPLAN_ASSIGN_OR_RETURN(
      auto script, ScriptDeviceSource(devices.substr(kScriptPrefix.size())));
  return DeviceSources{std::move(script)};
}

// How often parts that nobody goes on with are looked for.
milliseconds SweepInterval(const StoreRules& rules) {
  return std::clamp<milliseconds>(rules.part_ttl / 4, milliseconds(250),
                                  seconds(60));
}

// Nothing for 0, which is no bound.
std::optional<int64_t> Bound(int64_t most) {
  return most > 0 ? std::optional(most) : std::nullopt;
}

// A store that another daemon has says what to do; what the system said does not.
absl::Status WithStoreAdvice(const absl::Status& status) {
  if (ReasonOf(status) == "STORE_IN_USE") return status;
  return {status.code(),
          absl::StrCat(status.message(),
                       "; let the daemon's user write there, or choose another "
                       "folder with --store")};
}

std::string OrNone(const std::optional<HostPort>& address) {
  return address ? FormatHostPort(*address) : "none";
}

}  // namespace

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(ServerOptions options) {
  std::unique_ptr<Daemon> daemon(new Daemon(std::move(options)));
  MEMPLAN_RETURN_IF_ERROR(daemon->ClaimSockets());
  MEMPLAN_RETURN_IF_ERROR(daemon->OpenStore());
  MEMPLAN_RETURN_IF_ERROR(daemon->StartJobs());
  MEMPLAN_RETURN_IF_ERROR(daemon->StartServing());
  return daemon;
}

Daemon::Daemon(ServerOptions options)
    : options_(std::move(options)),
      start_time_(std::chrono::system_clock::now()),
      calls_(MethodsOf(ServiceNames())),
      gate_(options_.max_checks_per_second) {}

Daemon::~Daemon() { Stop(); }

absl::Status Daemon::ClaimSockets() {
  MEMPLAN_RETURN_IF_ERROR(ClaimSocketPath(options_.socket, "--socket"));
  if (options_.observer_socket.path.empty()) return absl::OkStatus();
  return ClaimSocketPath(options_.observer_socket, "--observer-socket");
}

absl::Status Daemon::OpenStore() {
  auto folder = StoreFolder::Open(options_.store);
  if (!folder.ok()) return WithStoreAdvice(folder.status());
  folder_ = *std::move(folder);
  MEMPLAN_ASSIGN_OR_RETURN(database_, Database::Open(folder_->database_path()));
  MEMPLAN_ASSIGN_OR_RETURN(
      models_, OpenModelStore(*folder_, *database_, options_.store_rules));
  MEMPLAN_ASSIGN_OR_RETURN(probes_, OpenProbeStore(*folder_, *database_));
  MEMPLAN_ASSIGN_OR_RETURN(call_results_, OpenCallResults(*database_));
  return absl::OkStatus();
}

absl::Status Daemon::StartJobs() {
  MEMPLAN_ASSIGN_OR_RETURN(const DeviceSources sources,
                           SourcesOf(options_.devices));
  devices_ = std::make_unique<DeviceMonitor>(sources, kDeviceTiming);
  WorkerOptions workers;
  workers.scripted_gpus = options_.devices.starts_with(kScriptPrefix);
  if (options_.worker != kNoWorker) workers.program = options_.worker;
  workers.library_path = options_.worker_library_path;
  workers.begin_context = [this](const std::string& device_id) {
    return BeginContext(*devices_, device_id);
  };
  workers.sandbox = options_.sandbox;
  workers.scratch_path = folder_->scratch_path();
  MEMPLAN_RETURN_IF_ERROR(EmptyScratchFolders(workers.scratch_path));
  workers.memory_groups = MemoryGroups::Open(options_.worker_memory);
  if (!workers.scripted_gpus) {
    workers.spare_workers = static_cast<size_t>(options_.spare_workers);
  }
  runner_ = MakeProcessTrialRunner(std::move(workers));
  if (absl::Status usable = runner_->CheckUsable();
      !usable.ok() && options_.worker != kNoWorker) {
    spdlog::warn("no probe can run: {}", std::string(usable.message()));
  }
  MEMPLAN_RETURN_IF_ERROR(LearnSandbox());
  MEMPLAN_RETURN_IF_ERROR(StartAdmission());
  ProbeJobs::Options jobs = options_.jobs;
  jobs.hold_room = [this](const Probe& probe, const Device& device) {
    return HoldRoom(probe, device);
  };
  jobs.on_end = [this](const Probe& probe) { admission_->needs().Add(probe); };
  jobs.read_trace = ReadTrace;
  jobs.call_results = call_results_.get();
  jobs.read_device = [this](const std::string& id) {
    return devices_->ReadNow(id, kContextPatience);
  };
  jobs.owner_of = [this](int64_t pid) {
    const auto process = processes_.Find(pid);
    if (!process) return ProcessOwner::kUnknown;
    return process->parent == getpid() ? ProcessOwner::kOurs
                                       : ProcessOwner::kOthers;
  };
  MEMPLAN_ASSIGN_OR_RETURN(
      jobs_, ProbeJobs::Start(std::move(jobs), *probes_, *models_, *runner_));
  return absl::OkStatus();
}

absl::Status Daemon::StartAdmission() {
  MEMPLAN_ASSIGN_OR_RETURN(
      reservations_, ReservationStore::Open(folder_->reservations_path()));
  MEMPLAN_ASSIGN_OR_RETURN(
      admission_,
      Admission::Start(options_.admission,
                       {.devices = [this] { return devices_->Latest(); },
                        .processes = processes_,
                        .store = *reservations_}));
  return absl::OkStatus();
}

ProbeJobs::Options::Room Daemon::HoldRoom(const Probe& probe,
                                          const Device& device) {
  const auto& [cap, budget] = probe.spec.limit;
  const std::string holder = absl::StrCat("probe ", probe.id);
  const auto release_later = [this](int64_t hold) {
    return std::shared_ptr<void>(
        nullptr, [this, hold](void*) { admission_->EndHold(hold); });
  };
  // Each keeps a processor busy, and as much again in its driver.
  const int of_processors =
      std::max(2, static_cast<int>(std::thread::hardware_concurrency()) / 2);
  for (int workers = std::min(WorkersWithRoom(probe, device), of_processors);
       workers > 1; --workers) {
    const auto held = admission_->Hold(device, BytesForWorkers(probe, workers),
                                       false, holder);
    if (const auto* hold = std::get_if<int64_t>(&held)) {
      return HeldRoom{release_later(*hold), workers};
    }
  }
  auto held = admission_->Hold(device, BytesAwaited(probe, device),
                               !cap && !budget, holder);
  if (auto* words = std::get_if<std::string>(&held)) {
    return WaitingFor{WaitingReason::kRoom, std::move(*words)};
  }
  return HeldRoom{release_later(std::get<int64_t>(held)), 1};
}

// A model that comes will be probed, most likely where the client's default is.
void Daemon::ExpectProbe() {
  const auto snapshot = devices_->Latest();
  if (snapshot == nullptr) return;
  const auto& devices = snapshot->devices;
  const auto gpu =
      std::find_if(devices.begin(), devices.end(), [](const Device& device) {
        return !device.is_cpu && device.read_error.empty();
      });
  if (gpu != devices.end()) runner_->Expect(gpu->id);
}

// A worker takes a second to try it, which the start waits for only if it
// depends on it.
absl::Status Daemon::LearnSandbox() {
  if (options_.worker == kNoWorker) return absl::OkStatus();
  if (options_.sandbox == SandboxMode::kRequire) {
    return runner_->LearnSandbox(stopping_);
  }
  sandbox_check_ =
      std::thread([this] { runner_->LearnSandbox(stopping_).IgnoreError(); });
  return absl::OkStatus();
}

absl::Status Daemon::StartServing() {
  disk_ = std::make_unique<WorkQueue>(kDiskThreads, kDiskQueue);
  replays_ = std::make_unique<WorkQueue>(kReplayThreads, kReplayQueue);
  // From before this start, the oldest first.
  const auto probes = jobs_->List();
  for (auto probe = probes.rbegin(); probe != probes.rend(); ++probe) {
    if (HasEnded((*probe)->state)) admission_->needs().Add(**probe);
  }
  admission_service_ = std::make_unique<AdmissionService>(AdmissionSupport{
      *admission_, places_.watches, gate_, options_.longest_wait});
  device_service_ = std::make_unique<DeviceService>(*devices_);
  model_service_ = std::make_unique<ModelService>(
      *models_, *disk_, places_.uploads, options_.upload_idle_timeout,
      [this] { ExpectProbe(); });
  plan_service_ = std::make_unique<PlanService>(*replays_, places_.replays);
  probe_service_ = std::make_unique<ProbeService>(
      ProbeSupport{*jobs_, *runner_, *devices_, *disk_, places_.watches,
                   options_.longest_wait});
  server_service_ =
      std::make_unique<ServerService>([this] { return ReadStatus(); });
  MEMPLAN_RETURN_IF_ERROR(StartRpc());
  sweeps_ = std::make_unique<Ticker>(SweepInterval(options_.store_rules),
                                     [this] { models_->Sweep(); });
  part_checks_ =
      std::make_unique<Ticker>(kPartInterval, [this] { CheckParts(); });
  if (options_.metrics) {
    MEMPLAN_ASSIGN_OR_RETURN(
        metrics_page_,
        HttpEndpoint::Start(
            options_.metrics->host, options_.metrics->port,
            {.metrics = [this] { return BuildFamilies(ReadMetrics()); },
             .healthy = [this] { return state_ == ServerState::kServing; }}));
  }
  return absl::OkStatus();
}

absl::Status Daemon::StartRpc() {
  observer_services_ = MakeObserverServices({.admission = *admission_service_,
                                             .devices = *device_service_,
                                             .models = *model_service_,
                                             .probes = *probe_service_,
                                             .server = *server_service_},
                                            options_.socket.path);
  RpcServices services = {
      .full = {admission_service_.get(), device_service_.get(),
               model_service_.get(), plan_service_.get(), probe_service_.get(),
               server_service_.get()},
      .observer = {}};
  for (const auto& service : observer_services_) {
    services.observer.push_back(service.get());
  }
  RpcAddresses addresses = {.socket = options_.socket,
                            .observer_socket = {},
                            .listen = options_.listen,
                            .credentials = nullptr};
  if (!options_.observer_socket.path.empty()) {
    addresses.observer_socket = options_.observer_socket;
  }
  MEMPLAN_RETURN_IF_ERROR(SecureTcp(addresses));
  MEMPLAN_ASSIGN_OR_RETURN(
      rpc_, RpcServer::Start(addresses, options_.rpc, calls_, services));
  return absl::OkStatus();
}

absl::Status Daemon::SecureTcp(RpcAddresses& addresses) {
  if (options_.listen && options_.tls.given()) {
    MEMPLAN_ASSIGN_OR_RETURN(certificate_, LiveCertificate::Load(options_.tls));
    addresses.credentials = credentials_ = certificate_->Credentials();
    certificate_looks_ = std::make_unique<Ticker>(
        options_.tls.reload_interval, [this] { certificate_->Look(); });
  } else if (options_.listen && !IsLoopback(options_.listen->host)) {
    spdlog::warn(
        "insecure: whoever reaches {} may call, unencrypted and without a "
        "certificate",
        FormatHostPort(*options_.listen));
  }
  return absl::OkStatus();
}

MetricsInput Daemon::ReadMetrics() const {
  return {.start_time = start_time_,
          .version = MEMPLAN_VERSION,
          .devices = devices_->Latest(),
          .processes = {.most = static_cast<size_t>(options_.process_series),
                        .own_pid = getpid()},
          .probes = jobs_->List(),
          .jobs = jobs_->Counts(),
          .admission = admission_->Counts(),
          .workers = runner_->Counts(),
          .sandbox = AllLayers(runner_->Sandbox()),
          .calls = calls_.Read(),
          .parts = parts(),
          .tls = certificate_ == nullptr
                     ? std::nullopt
                     : std::make_optional(certificate_->Status()),
          .state = state_,
          .store = models_->Use(),
          .uploads = model_service_->uploads(),
          .call_results = call_results_->Counts()};
}

ServerStatus Daemon::ReadStatus() const {
  ServerStatus status;
  status.version = MEMPLAN_VERSION;
  status.state = state_;
  status.start_time = start_time_;
  status.pid = getpid();
  status.log_level = GetLogLevel();
  status.parts = parts();
  status.limits = ReadLimits();
  status.sandbox = AllLayers(runner_->Sandbox());
  status.store_path = folder_->path();
  status.worker_path = options_.worker;
  return status;
}

std::vector<LimitStatus> Daemon::ReadLimits() const {
  const JobCounts jobs = jobs_->Counts();
  std::vector<LimitStatus> limits = {
      {"queued_probes", jobs.queued, options_.jobs.max_queued},
      {"running_probes", jobs.running, {}}};
  const auto add = [&limits](const char* name, const Places& places) {
    limits.push_back({name, places.taken(), places.most()});
  };
  const StoreUse store = models_->Use();
  limits.push_back({"store_bytes", store.model_bytes + store.part_bytes,
                    Bound(options_.store_rules.max_bytes)});
  limits.push_back({"store_models", store.models + store.parts,
                    Bound(options_.store_rules.max_models)});
  add("uploads", places_.uploads);
  add("watches", places_.watches);
  add("replays", places_.replays);
  int64_t reservations = 0;
  for (const DeviceAdmission& device : admission_->Counts().devices) {
    reservations += device.sums.waiting + device.sums.adopted;
  }
  limits.push_back(
      {"reservations", reservations, options_.admission.max_reservations});
  return limits;
}

void Daemon::CheckParts() {
  const auto devices = devices_->Latest();
  DeviceAges ages;
  for (const DeviceAdmission& device : admission_->Counts().devices) {
    if (device.age) ages[device.device_id] = *device.age;
  }
  std::vector<PartStatus> now = {
      DevicesHealth(devices.get(), ages, options_.expected_gpus),
      StoreHealth(folder_->path(), *database_),
      options_.worker == kNoWorker ? NoWorkersHealth()
                                   : WorkersHealth(runner_->CheckUsable())};
  if (certificate_ != nullptr) {
    now.push_back(TlsHealth(certificate_->Status()));
  }
  for (const PartStatus& part : now) {
    rpc_->SetPartHealth(part.name, part.healthy);
  }
  const std::lock_guard lock(parts_mutex_);
  for (const PartStatus& part : now) {
    const bool was_healthy = std::none_of(
        parts_.begin(), parts_.end(), [&part](const PartStatus& before) {
          return before.name == part.name && !before.healthy;
        });
    if (part.healthy == was_healthy) continue;
    spdlog::log(part.healthy ? spdlog::level::info : spdlog::level::warn,
                "{} {}: {}", part.name, part.healthy ? "work again" : "fail",
                part.detail);
  }
  parts_ = std::move(now);
}

std::vector<PartStatus> Daemon::parts() const {
  const std::lock_guard lock(parts_mutex_);
  return parts_;
}

std::string Daemon::ReadyLine() const {
  std::optional<HostPort> metrics = options_.metrics;
  if (metrics) metrics->port = metrics_page_->port();
  return absl::StrCat("ready socket=", options_.socket.path,
                      " tcp=", OrNone(rpc_->listen()),
                      " metrics=", OrNone(metrics), " store=", folder_->path());
}

absl::Status Daemon::CheckAlive(milliseconds patience) {
  (void)ReadStatus();
  MEMPLAN_RETURN_IF_ERROR(CheckQueueWorks("the disk queue", *disk_, patience));
  return rpc_->CheckAnswers(patience);
}

void Daemon::Drain() {
  if (rpc_ != nullptr) rpc_->StopServing();
  std::this_thread::sleep_for(options_.drain_delay);
  drained_by_ = std::chrono::steady_clock::now() + options_.drain_grace;
  places_.uploads.Close();
  places_.replays.Close();
  if (admission_ != nullptr) admission_->Drain();
  if (jobs_ != nullptr) jobs_->Drain(drained_by_);
}

void Daemon::Stop() {
  if (state_.exchange(ServerState::kDraining) == ServerState::kServing) Drain();
  part_checks_ = nullptr;
  sweeps_ = nullptr;
  certificate_looks_ = nullptr;
  stopping_.Cancel();
  if (sandbox_check_.joinable()) sandbox_check_.join();
  // Before the jobs, so that no trial that is left waits for a driver that hangs.
  if (devices_ != nullptr) {
    devices_->Stop(
        std::clamp(std::chrono::duration_cast<milliseconds>(
                       drained_by_ - std::chrono::steady_clock::now()),
                   kLastPatience, kReadingPatience));
  }
  if (jobs_ != nullptr) jobs_->Stop();
  WaitForCalls(calls_, drained_by_);
  if (rpc_ != nullptr) rpc_->Shutdown(kLastPatience);
  if (admission_ != nullptr) admission_->Stop();
  if (reservations_ != nullptr) reservations_->Stop();
  if (disk_ != nullptr) disk_->Stop();
  if (replays_ != nullptr) replays_->Stop();
  metrics_page_ = nullptr;
  rpc_ = nullptr;
}

}  // namespace memplan
