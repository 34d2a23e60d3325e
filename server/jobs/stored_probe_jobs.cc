// What callers ask for. What the devices' threads do is in stored_probe_line.cc
// and stored_probe_runs.cc.
#include "server/jobs/stored_probe_jobs.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <future>
#include <limits>
#include <random>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "planner/base/status_macros.h"
#include "server/base/reason.h"

namespace memplan {
namespace {

// How long Drain waits for workers that it has had killed.
constexpr std::chrono::seconds kCancelPatience{1};

absl::Status ProbeNotFound(std::string_view id) {
  return WithReason(absl::NotFoundError(absl::StrCat(
                        "no probe is called `", std::string(id),
                        "`; `memplan list` shows those there are")),
                    "PROBE_NOT_FOUND");
}

absl::Status ShuttingDown() {
  return WithReason(absl::UnavailableError(
                        "the daemon is shutting down and takes no new probes; "
                        "try again once it is back"),
                    "SHUTTING_DOWN");
}

absl::Status RequestIdReused(const std::string& id) {
  return WithReason(
      absl::AlreadyExistsError(absl::StrCat(
          "this id was used to create probe ", id,
          ", which has another spec; give each new request an id of its own, "
          "such as a UUID")),
      "REQUEST_ID_REUSED", "request_id");
}

absl::Status QueueFull(int waiting) {
  return WithReason(
      absl::ResourceExhaustedError(absl::StrCat(
          waiting,
          " probes are waiting already, which is the most; wait for "
          "some to end, or cancel some")),
      "QUEUE_FULL");
}

}  // namespace

// The line of requests has no bound of its own: each stands for a call that its
// caller waits for.
StoredProbeJobs::StoredProbeJobs(Options options, ProbeStore& store,
                                 ModelStore& models, TrialRunner& runner)
    : options_(std::move(options)),
      store_(store),
      models_(models),
      runner_(runner),
      starts_(options_.workers),
      requests_(1, std::numeric_limits<size_t>::max()) {}

StoredProbeJobs::~StoredProbeJobs() { StoredProbeJobs::Stop(); }

absl::Status StoredProbeJobs::Load() {
  MEMPLAN_ASSIGN_OR_RETURN(std::vector<Probe> probes, store_.LoadAll());
  std::vector<std::string> devices;
  for (Probe& probe : probes) {
    if (!HasEnded(probe.state)) {
      devices.push_back(probe.spec.device_id);
      probe = TakenOver(std::move(probe));
    }
    const std::lock_guard lock(mutex_);
    table_.Add(std::move(probe));
  }
  ForgetOldProbes();
  const std::lock_guard lock(mutex_);
  (void)table_.TakeChanges();  // nobody watches yet
  for (const std::string& device : devices) StartThreadFor(device);
  SweepLater();
  return absl::OkStatus();
}

void StoredProbeJobs::SweepLater() {
  timers_.Set(std::chrono::steady_clock::now() + options_.sweep_interval,
              [this] {
                requests_.Post([this] { ForgetOldProbes(); });
                SweepLater();
              });
}

void StoredProbeJobs::ForgetOldProbes() {
  for (const std::string& id : ProbesToForget(
           List(), options_.retention, std::chrono::system_clock::now())) {
    if (absl::Status status = store_.Delete(id); !status.ok()) {
      spdlog::warn("probe {} is old, but not forgotten: {}", id,
                   std::string(status.message()));
      continue;
    }
    const std::lock_guard lock(mutex_);
    table_.Erase(id);
    ++counts_.probes_forgotten;
  }
}

Probe StoredProbeJobs::TakenOver(Probe probe) {
  const auto now = std::chrono::system_clock::now();
  const bool was_running = probe.state == ProbeState::kRunning;
  if (was_running) {
    probe.state = ProbeState::kQueued;
    probe.start_time.reset();
    ++probe.restart_count;
    const std::lock_guard lock(mutex_);
    if (!probe.trials.empty()) ++counts_.probes_resumed;
  }
  // Changes of progress and place went up in version without being kept. Faster
  // than once a microsecond they did not come, so that the time is above them.
  const auto microseconds =
      std::chrono::duration_cast<std::chrono::microseconds>(
          now.time_since_epoch());
  probe.version =
      std::max(probe.version + 1, static_cast<int64_t>(microseconds.count()));
  auto pins = PinPrograms(models_, probe.spec);
  const bool pinned = pins.ok();
  if (pinned) {
    const std::lock_guard lock(mutex_);
    pins_[probe.id] = *std::move(pins);
  } else {
    probe.state = ProbeState::kFailed;
    probe.error = ToProbeError(pins.status());
    probe.end_time = now;
  }
  if (was_running || !pinned) {
    // A store that cannot be written must not keep the daemon from starting.
    if (absl::Status status = store_.Save(probe); !status.ok()) {
      spdlog::error("probe {} is taken over, but not saved: {}", probe.id,
                    std::string(status.message()));
    }
  }
  return probe;
}

void StoredProbeJobs::Create(ProbeSpec spec, std::string request_id,
                             ProbeCallback done) {
  requests_.Post([this, spec = std::move(spec),
                  request_id = std::move(request_id),
                  done = std::move(done)]() mutable {
    done(CreateNow(std::move(spec), std::move(request_id)));
  });
}

absl::StatusOr<ProbeJobs::ProbePtr> StoredProbeJobs::CreateNow(
    ProbeSpec spec, std::string request_id) {
  Probe probe;
  {
    const std::lock_guard lock(mutex_);
    if (const ProbePtr known = table_.WithRequestId(request_id)) {
      if (known->spec == spec) return known;
      return RequestIdReused(known->id);
    }
    if (draining_) return ShuttingDown();
    const int waiting = table_.CountIn(ProbeState::kQueued);
    if (waiting >= options_.max_queued) return QueueFull(waiting);
    probe.id = NewId();
  }
  MEMPLAN_ASSIGN_OR_RETURN(ProgramPins pins, PinPrograms(models_, spec));
  probe.request_id = std::move(request_id);
  probe.spec = std::move(spec);
  probe.create_time = std::chrono::system_clock::now();
  probe.version = 1;
  MEMPLAN_RETURN_IF_ERROR(store_.Save(probe));
  const std::lock_guard lock(mutex_);
  pins_[probe.id] = std::move(pins);
  const std::string id = probe.id;
  const std::string device = probe.spec.device_id;
  table_.Add(std::move(probe));
  TellWatchers();
  StartThreadFor(device);
  ++arrivals_;
  work_changed_.notify_all();
  return table_.Get(id);
}

std::string StoredProbeJobs::NewId() const {
  std::random_device random;
  std::string id;
  do {
    id =
        absl::StrFormat("%06x%06x", random() & 0xff'ffff, random() & 0xff'ffff);
  } while (table_.Get(id) != nullptr);
  return id;
}

ProbeJobs::ProbePtr StoredProbeJobs::Get(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  return table_.Get(id);
}

std::vector<ProbeJobs::ProbePtr> StoredProbeJobs::List() const {
  const std::lock_guard lock(mutex_);
  return table_.NewestFirst();
}

void StoredProbeJobs::Cancel(std::string_view id, ProbeCallback done) {
  requests_.Post([this, id = std::string(id), done = std::move(done)] {
    done(CancelNow(id));
  });
}

absl::StatusOr<ProbeJobs::ProbePtr> StoredProbeJobs::CancelNow(
    const std::string& id) {
  std::unique_lock lock(mutex_);
  ProbePtr probe = table_.Get(id);
  if (probe == nullptr) return ProbeNotFound(id);
  if (HasEnded(probe->state)) return probe;
  if (table_.LeaveLine(id)) {
    TellWatchers();
    lock.unlock();
    return CancelQueued(*probe);
  }
  for (const auto& [device, running] : running_) {
    if (running->id != id) continue;
    running->by_user = true;
    running->signal.Cancel();
  }
  work_changed_.notify_all();  // it may be in a pause
  return probe;
}

absl::StatusOr<ProbeJobs::ProbePtr> StoredProbeJobs::CancelQueued(Probe probe) {
  probe.state = ProbeState::kCancelled;
  probe.end_time = std::chrono::system_clock::now();
  probe.queue_position = 0;
  probe.waiting_for.reset();
  ++probe.version;
  const absl::Status status = store_.Save(probe);
  const std::lock_guard lock(mutex_);
  if (!status.ok()) {
    table_.RejoinLine(probe.id);
    ++arrivals_;
    TellWatchers();
    work_changed_.notify_all();
    return status;
  }
  const std::string id = probe.id;
  pins_.erase(id);
  ++counts_.probes_cancelled;
  table_.Update(std::move(probe));
  TellWatchers();
  return table_.Get(id);
}

void StoredProbeJobs::Delete(std::string_view id, StatusCallback done) {
  requests_.Post([this, id = std::string(id), done = std::move(done)] {
    done(DeleteNow(id));
  });
}

absl::Status StoredProbeJobs::DeleteNow(const std::string& id) {
  const ProbePtr probe = Get(id);
  if (probe == nullptr) return ProbeNotFound(id);
  if (!HasEnded(probe->state)) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          "probe ", id,
                          " has not ended; cancel it first, or wait for its "
                          "end")),
                      "PROBE_NOT_ENDED");
  }
  MEMPLAN_RETURN_IF_ERROR(store_.Delete(id));
  const std::lock_guard lock(mutex_);
  table_.Erase(id);
  return absl::OkStatus();
}

std::unique_ptr<ProbeJobs::Subscription> StoredProbeJobs::Watch(
    std::string_view id, std::function<void(ProbePtr)> on_change) {
  const std::lock_guard lock(mutex_);
  ProbePtr probe = table_.Get(id);
  if (probe == nullptr) return nullptr;
  return watchers_.Add(std::move(probe), std::move(on_change));
}

std::unique_ptr<ProbeJobs::Subscription> StoredProbeJobs::WhenEnded(
    std::string_view id, std::function<void(ProbePtr)> on_end) {
  const std::lock_guard lock(mutex_);
  ProbePtr probe = table_.Get(id);
  if (probe == nullptr) return nullptr;
  return watchers_.AddForEnd(std::move(probe), std::move(on_end));
}

JobCounts StoredProbeJobs::Counts() const {
  const std::lock_guard lock(mutex_);
  JobCounts counts = counts_;
  counts.queued = table_.CountIn(ProbeState::kQueued);
  counts.running = table_.CountIn(ProbeState::kRunning);
  counts.waiting = table_.CountWaiting();
  counts.workers_resting =
      starts_.WhyResting(std::chrono::steady_clock::now()).has_value();
  return counts;
}

void StoredProbeJobs::CancelRunning() {
  for (const auto& [device, running] : running_) running->signal.Cancel();
  work_changed_.notify_all();
}

void StoredProbeJobs::Drain(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  draining_ = true;
  work_changed_.notify_all();
  const auto none_runs = [this] { return running_.empty(); };
  if (work_changed_.wait_until(lock, deadline, none_runs)) return;
  CancelRunning();
  work_changed_.wait_for(lock, kCancelPatience, none_runs);
}

void StoredProbeJobs::Stop() {
  std::call_once(stop_once_, [this] {
    timers_.Stop();
    std::map<std::string, std::thread> threads;
    {
      const std::lock_guard lock(mutex_);
      draining_ = true;
      CancelRunning();
      threads.swap(threads_);
    }
    for (auto& [device, thread] : threads) thread.join();
    std::promise<void> answered;
    requests_.Post([&answered] { answered.set_value(); });
    answered.get_future().wait();
    watchers_.End();
  });
}

void StoredProbeJobs::StartThreadFor(const std::string& device_id) {
  if (draining_ || threads_.contains(device_id)) return;
  try {
    threads_[device_id] =
        std::thread([this, device_id] { RunDevice(device_id); });
  } catch (const std::system_error& error) {
    threads_.erase(device_id);
    spdlog::error(
        "cannot start the thread of device {}: {}; its probes wait "
        "until the next one is created",
        device_id, error.what());
  }
}

void StoredProbeJobs::TellWatchers() {
  for (const ProbePtr& change : table_.TakeChanges()) watchers_.Tell(change);
}

void StoredProbeJobs::Publish(const Probe& probe) {
  const std::lock_guard lock(mutex_);
  table_.Update(probe);
  TellWatchers();
}

absl::StatusOr<std::unique_ptr<ProbeJobs>> ProbeJobs::Start(
    Options options, ProbeStore& store, ModelStore& models,
    TrialRunner& runner) {
  auto jobs = std::make_unique<StoredProbeJobs>(std::move(options), store,
                                                models, runner);
  MEMPLAN_RETURN_IF_ERROR(jobs->Load());
  return jobs;
}

}  // namespace memplan
