#include "server/workers/process_trial_runner.h"

#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "planner/base/status_macros.h"
#include "server/base/reason.h"
#include "server/workers/process_session.h"
#include "server/workers/sandbox_check.h"
#include "server/workers/scratch_folders.h"
#include "server/workers/spare_workers.h"
#include "server/workers/worker.h"
#include "server/workers/worker_environment.h"
#include "server/workers/worker_records.h"

namespace memplan {
namespace {

using Clock = std::chrono::steady_clock;

// At once, so that the threads it will start inherit it.
void BeNice(pid_t pid, int niceness) {
  if (niceness == 0) return;
  if (setpriority(PRIO_PROCESS, static_cast<id_t>(pid), niceness) != 0) {
    spdlog::warn("worker {} does not get niceness {}: {}", pid, niceness,
                 std::generic_category().message(errno));
  }
}

// Before any worker has told of itself.
SandboxStatus StatusAtFirst(const WorkerOptions& options) {
  SandboxStatus status;
  status.mode = options.sandbox;
  if (!options.scratch_path.empty()) {
    status.daemon_layers.push_back(ScratchFolderLayer());
  }
  if (options.memory_groups != nullptr) {
    status.daemon_layers.push_back(options.memory_groups->layer());
  }
  return status;
}

class StandardRunner : public ProcessTrialRunner {
 public:
  explicit StandardRunner(WorkerOptions options)
      : options_(std::move(options)),
        surroundings_(SurroundingsOfThisProcess(options_.library_path)),
        records_(StatusAtFirst(options_)),
        spares_(
            options_.spare_workers, options_.spare_patience,
            [this](const std::string& device) { return Start(device); },
            [this](bool died) {
              records_.Count(died ? &WorkerCounts::died
                                  : &WorkerCounts::cancelled);
            }) {
    // Were it ignored (a parent may have left it so), no child could be waited
    // for.
    (void)signal(SIGCHLD, SIG_DFL);
  }

  absl::Status CheckUsable() const override;
  absl::StatusOr<TrialResult> Run(const TrialOrder& order, CancelSignal& cancel,
                                  const OnWorkerProgress& on_progress) override;
  absl::StatusOr<std::unique_ptr<WorkerSession>> Begin(
      const SessionOrder& order, CancelSignal& cancel) override;

  void Expect(const std::string& device_id) override {
    spares_.Expect(device_id);
  }

  WorkerCounts Counts() const override { return records_.Counts(); }
  SandboxStatus Sandbox() const override { return records_.Sandbox(); }

  absl::Status LearnSandbox(const CancelSignal& cancel) override;

 private:
  absl::StatusOr<ScratchFolder> MakeScratch() const;
  absl::StatusOr<MemoryGroup> MakeGroup() const;
  std::vector<std::string> Environment(const std::string& device_id,
                                       const ScratchFolder& scratch) const;
  absl::StatusOr<StartedWorker> Start(const std::string& device_id);
  absl::StatusOr<Worker> StartIn(const std::string& device_id,
                                 const ScratchFolder& scratch,
                                 const MemoryGroup& group);

  const WorkerOptions options_;
  const WorkerSurroundings surroundings_;
  WorkerRecords records_;
  SpareWorkers spares_;
};

absl::Status StandardRunner::CheckUsable() const {
  const std::string& program = options_.program;
  const std::string next_step =
      "; install memplan-worker there, or start memplan-server with --worker "
      "and its path";
  if (program.empty()) {
    return WorkerUnusable(
        "this daemon runs no probes (--worker none); ask one that does, or "
        "start it with --worker and the path of memplan-worker");
  }
  struct stat status {};
  if (stat(program.c_str(), &status) != 0) {
    return WorkerUnusable(absl::StrCat(
        "the worker program ", program,
        " is missing: ", std::generic_category().message(errno), next_step));
  }
  if (!S_ISREG(status.st_mode) || access(program.c_str(), X_OK) != 0) {
    return WorkerUnusable(absl::StrCat("the worker program ", program,
                                       " cannot be executed", next_step));
  }
  return absl::OkStatus();
}

absl::Status StandardRunner::LearnSandbox(const CancelSignal& cancel) {
  if (options_.sandbox == SandboxMode::kOff) {
    spdlog::warn("{}", SandboxLine(Sandbox()));
    return absl::OkStatus();
  }
  const auto layers = CheckSandbox({.program = options_.program,
                                    .environment = Environment("cpu", {}),
                                    .timeout = options_.start_timeout,
                                    .wake = cancel.descriptor()});
  if (absl::IsCancelled(layers.status())) return absl::OkStatus();
  if (layers.ok()) {
    records_.Learn(*layers, "");
  } else {
    records_.Learn({}, std::string(layers.status().message()));
  }
  const auto missing =
      gpu::CoreLayersMissing(layers.value_or(std::vector<gpu::SandboxLayer>{}));
  spdlog::log(missing.empty() ? spdlog::level::info : spdlog::level::warn, "{}",
              SandboxLine(Sandbox()));
  if (missing.empty() || options_.sandbox != SandboxMode::kRequire) {
    return absl::OkStatus();
  }
  return SandboxMissing(layers.ok() ? absl::StrJoin(missing, "; ")
                                    : std::string(layers.status().message()));
}

absl::StatusOr<ScratchFolder> StandardRunner::MakeScratch() const {
  if (options_.scratch_path.empty()) return ScratchFolder();
  auto scratch = ScratchFolder::Make(options_.scratch_path);
  if (!scratch.ok()) return WithReason(scratch.status(), "HOST_EXHAUSTED");
  return scratch;
}

absl::StatusOr<MemoryGroup> StandardRunner::MakeGroup() const {
  if (options_.memory_groups == nullptr) return MemoryGroup();
  auto group = options_.memory_groups->Make();
  if (!group.ok()) return WithReason(group.status(), "HOST_EXHAUSTED");
  return group;
}

std::vector<std::string> StandardRunner::Environment(
    const std::string& device_id, const ScratchFolder& scratch) const {
  WorkerSurroundings surroundings = surroundings_;
  if (!scratch.path().empty()) {
    surroundings.home = scratch.path();
    surroundings.temporary_folder = scratch.path();
  }
  return WorkerEnvironment(surroundings, device_id);
}

absl::StatusOr<StartedWorker> StandardRunner::Start(
    const std::string& device_id) {
  MEMPLAN_ASSIGN_OR_RETURN(ScratchFolder scratch, MakeScratch());
  MEMPLAN_ASSIGN_OR_RETURN(MemoryGroup group, MakeGroup());
  MEMPLAN_ASSIGN_OR_RETURN(Worker worker, StartIn(device_id, scratch, group));
  return StartedWorker{std::move(scratch), std::move(group), std::move(worker)};
}

absl::StatusOr<Worker> StandardRunner::StartIn(const std::string& device_id,
                                               const ScratchFolder& scratch,
                                               const MemoryGroup& group) {
  absl::Status usable = CheckUsable();
  if (usable.ok()) {
    auto worker = StartWorker(options_.program, Environment(device_id, scratch),
                              options_.trace_bytes);
    usable = worker.ok() ? group.Add(worker->process->pid()) : worker.status();
    if (usable.ok()) {
      records_.Count(&WorkerCounts::started);
      return worker;
    }
    if (absl::IsFailedPrecondition(usable)) {
      usable = WorkerUnusable(std::string(usable.message()));
    } else if (absl::IsResourceExhausted(usable)) {
      usable = WithReason(usable, "HOST_EXHAUSTED");
    }
  }
  records_.Count(&WorkerCounts::start_failed);
  return usable;
}

absl::StatusOr<TrialResult> StandardRunner::Run(
    const TrialOrder& order, CancelSignal& cancel,
    const OnWorkerProgress& on_progress) {
  MEMPLAN_ASSIGN_OR_RETURN(const std::unique_ptr<WorkerSession> session,
                           Begin({.device_id = order.device_id,
                                  .device = order.request.device,
                                  .niceness = order.niceness},
                                 cancel));
  return session->Run(order, on_progress);
}

absl::StatusOr<std::unique_ptr<WorkerSession>> StandardRunner::Begin(
    const SessionOrder& order, CancelSignal& cancel) {
  const bool on_gpu = order.device == gpu::DeviceKind::kCuda;
  ContextReader context;
  if (on_gpu && options_.begin_context) {
    context = options_.begin_context(order.device_id);
  }
  const Clock::time_point begun = Clock::now();
  std::optional<StartedWorker> started;
  if (on_gpu) started = spares_.Take(order.device_id);
  if (!started) {
    MEMPLAN_ASSIGN_OR_RETURN(started, Start(order.device_id));
  }
  BeNice(started->worker.process->pid(), order.niceness);
  return MakeProcessSession({.options = options_,
                             .records = records_,
                             .cancel = cancel,
                             .order = order,
                             .begun = begun,
                             .context = std::move(context),
                             .scratch = std::move(started->scratch),
                             .group = std::move(started->group),
                             .worker = std::move(started->worker)});
}

}  // namespace

std::unique_ptr<ProcessTrialRunner> MakeProcessTrialRunner(
    WorkerOptions options) {
  return std::make_unique<StandardRunner>(std::move(options));
}

}  // namespace memplan
