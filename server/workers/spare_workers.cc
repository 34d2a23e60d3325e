#include "server/workers/spare_workers.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

namespace memplan {
namespace {

using SteadyClock = std::chrono::steady_clock;

// It may have been killed while it waited.
bool HasEnded(const StartedWorker& spare) {
  return spare.worker.process->WaitUntil(SteadyClock::now()).has_value();
}

}  // namespace

SpareWorkers::SpareWorkers(size_t count, std::chrono::milliseconds patience,
                           Start start, OnLost on_lost)
    : count_(count),
      patience_(patience),
      start_(std::move(start)),
      on_lost_(std::move(on_lost)) {
  if (count_ == 0) return;
  try {
    thread_ = std::thread([this] { Work(); });
  } catch (const std::system_error& error) {
    spdlog::warn("workers are not started ahead of need: {}", error.what());
  }
}

SpareWorkers::~SpareWorkers() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  for (auto& [device, spares] : spares_) Lose(std::move(spares.workers));
}

std::optional<StartedWorker> SpareWorkers::Take(const std::string& device) {
  if (!thread_.joinable()) return std::nullopt;
  std::optional<StartedWorker> taken;
  std::vector<StartedWorker> dead;
  {
    const std::lock_guard lock(mutex_);
    Spares& spares = spares_[device];
    spares.last_asked = SteadyClock::now();
    spares.cannot_start = false;
    while (!taken && !spares.workers.empty()) {
      StartedWorker spare = std::move(spares.workers.front());
      spares.workers.erase(spares.workers.begin());
      if (HasEnded(spare)) {
        dead.push_back(std::move(spare));
      } else {
        taken = std::move(spare);
      }
    }
  }
  changed_.notify_all();
  Lose(std::move(dead));
  return taken;
}

void SpareWorkers::Expect(const std::string& device) {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    Spares& spares = spares_[device];
    spares.last_asked = SteadyClock::now();
    spares.cannot_start = false;
  }
  changed_.notify_all();
}

size_t SpareWorkers::waiting(const std::string& device) const {
  const std::lock_guard lock(mutex_);
  const auto found = spares_.find(device);
  return found == spares_.end() ? 0 : found->second.workers.size();
}

void SpareWorkers::Work() {
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    std::vector<StartedWorker> forgotten = TakeForgotten(SteadyClock::now());
    const std::optional<std::string> device = DeviceInNeed();
    if (!forgotten.empty() || device) {
      lock.unlock();
      Lose(std::move(forgotten));
      if (device) StartOneFor(*device);
      lock.lock();
    } else if (spares_.empty()) {
      changed_.wait(lock);
    } else {
      changed_.wait_for(lock, patience_);
    }
  }
}

std::optional<std::string> SpareWorkers::DeviceInNeed() const {
  const auto needy =
      std::find_if(spares_.begin(), spares_.end(), [this](const auto& entry) {
        return entry.second.workers.size() < count_ &&
               !entry.second.cannot_start;
      });
  if (needy == spares_.end()) return std::nullopt;
  return needy->first;
}

std::vector<StartedWorker> SpareWorkers::TakeForgotten(Time now) {
  std::vector<StartedWorker> forgotten;
  for (auto entry = spares_.begin(); entry != spares_.end();) {
    if (now - entry->second.last_asked < patience_) {
      ++entry;
      continue;
    }
    std::move(entry->second.workers.begin(), entry->second.workers.end(),
              std::back_inserter(forgotten));
    entry = spares_.erase(entry);
  }
  return forgotten;
}

void SpareWorkers::StartOneFor(const std::string& device) {
  absl::StatusOr<StartedWorker> started = start_(device);
  const std::lock_guard lock(mutex_);
  // Nobody may want it by now: then the next look lets it go.
  Spares& spares = spares_[device];
  if (started.ok()) {
    spares.workers.push_back(*std::move(started));
  } else {
    // Whoever needs a worker will be told why there is none.
    spares.cannot_start = true;
  }
}

void SpareWorkers::Lose(std::vector<StartedWorker> workers) const {
  for (StartedWorker& spare : workers) {
    const bool died = HasEnded(spare);
    if (!died) (void)spare.worker.process->Kill();
    on_lost_(died);
  }
}

}  // namespace memplan
