#include "server/devices/device_monitor.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "server/base/reason.h"

namespace memplan {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

// How long the destructor waits for a driver that hangs.
constexpr std::chrono::seconds kFarewell{2};

struct Waiter {
  SteadyTime deadline;
  DeviceMonitor::SnapshotCallback done;
};

absl::Status NotRead(const char* why) {
  return WithReason(absl::UnavailableError(why), "DEVICES_NOT_READ");
}

absl::Status Stopped() { return NotRead("the daemon is shutting down"); }

}  // namespace

const Device* FindDevice(const DeviceSnapshot& snapshot, std::string_view id) {
  const auto found =
      std::find_if(snapshot.devices.begin(), snapshot.devices.end(),
                   [id](const Device& device) { return device.id == id; });
  return found == snapshot.devices.end() ? nullptr : &*found;
}

// Two threads share it: one reads, the other ends the waits of those whose
// patience is over while the first reading is still in the driver.
struct DeviceMonitor::State {
  State(DeviceReader read_devices, std::chrono::milliseconds between_readings)
      : reader(std::move(read_devices)), interval(between_readings) {}

  void ReadUntilStopped();
  void EndWaitsUntilFirstReading();
  std::vector<Waiter> TakeExpired(SteadyTime now);

  const DeviceReader reader;  // called on the reading thread alone
  const std::chrono::milliseconds interval;

  std::mutex mutex;
  std::condition_variable changed;
  // All below under `mutex`.
  std::shared_ptr<const DeviceSnapshot> latest;
  std::vector<Waiter> waiters;  // only before the first reading
  int64_t started = 0;          // readings
  int64_t finished = 0;         // readings
  int64_t wanted = 0;           // the reading somebody waits for
  bool stopping = false;
  bool reading_ended = false;

  std::thread reading_thread;
  std::thread waiting_thread;
};

void DeviceMonitor::State::ReadUntilStopped() {
  std::unique_lock lock(mutex);
  while (!stopping) {
    const int64_t number = ++started;
    lock.unlock();
    auto snapshot = std::make_shared<DeviceSnapshot>(reader());
    snapshot->id = number;
    snapshot->time = std::chrono::system_clock::now();
    lock.lock();
    latest = snapshot;
    finished = number;
    const std::vector<Waiter> served = std::exchange(waiters, {});
    changed.notify_all();
    lock.unlock();
    for (const Waiter& waiter : served) waiter.done(snapshot);
    lock.lock();
    changed.wait_for(lock, interval,
                     [this] { return stopping || wanted > finished; });
  }
  reading_ended = true;
  changed.notify_all();
}

std::vector<Waiter> DeviceMonitor::State::TakeExpired(SteadyTime now) {
  const auto first_expired = std::partition(
      waiters.begin(), waiters.end(),
      [now](const Waiter& waiter) { return waiter.deadline > now; });
  std::vector<Waiter> expired(std::make_move_iterator(first_expired),
                              std::make_move_iterator(waiters.end()));
  waiters.erase(first_expired, waiters.end());
  return expired;
}

void DeviceMonitor::State::EndWaitsUntilFirstReading() {
  std::unique_lock lock(mutex);
  while (!stopping && latest == nullptr) {
    if (waiters.empty()) {
      changed.wait(lock);
      continue;
    }
    // A copy: others come and go while this waits.
    const SteadyTime next =
        std::min_element(waiters.begin(), waiters.end(),
                         [](const Waiter& a, const Waiter& b) {
                           return a.deadline < b.deadline;
                         })
            ->deadline;
    changed.wait_until(lock, next);
    std::vector<Waiter> expired = TakeExpired(std::chrono::steady_clock::now());
    lock.unlock();
    for (Waiter& waiter : expired) {
      waiter.done(
          NotRead("the devices have not been read yet: the driver is slow or "
                  "hangs; try again, and run nvidia-smi if this goes on"));
    }
    lock.lock();
  }
}

DeviceMonitor::DeviceMonitor(DeviceReader reader,
                             std::chrono::milliseconds interval)
    : state_(std::make_shared<State>(std::move(reader), interval)) {
  state_->reading_thread =
      std::thread([state = state_] { state->ReadUntilStopped(); });
  state_->waiting_thread =
      std::thread([state = state_] { state->EndWaitsUntilFirstReading(); });
}

DeviceMonitor::~DeviceMonitor() { Stop(); }

void DeviceMonitor::Stop() {
  std::unique_lock lock(state_->mutex);
  if (std::exchange(state_->stopping, true)) return;
  state_->changed.notify_all();
  const std::vector<Waiter> left = std::exchange(state_->waiters, {});
  lock.unlock();
  for (const Waiter& waiter : left) waiter.done(Stopped());
  lock.lock();
  const bool ended = state_->changed.wait_for(
      lock, kFarewell, [this] { return state_->reading_ended; });
  lock.unlock();
  state_->waiting_thread.join();
  if (ended) {
    state_->reading_thread.join();
  } else {
    state_->reading_thread.detach();
  }
}

std::shared_ptr<const DeviceSnapshot> DeviceMonitor::Latest() const {
  const std::lock_guard lock(state_->mutex);
  return state_->latest;
}

void DeviceMonitor::WhenRead(std::chrono::milliseconds patience,
                             SnapshotCallback done) {
  std::shared_ptr<const DeviceSnapshot> latest;
  {
    const std::lock_guard lock(state_->mutex);
    latest = state_->latest;
    if (latest == nullptr && !state_->stopping) {
      state_->waiters.push_back(
          {.deadline = std::chrono::steady_clock::now() + patience,
           .done = std::move(done)});
      state_->changed.notify_all();
      return;
    }
  }
  if (latest != nullptr) {
    done(std::move(latest));
  } else {
    done(Stopped());
  }
}

absl::StatusOr<std::shared_ptr<const DeviceSnapshot>> DeviceMonitor::ReadNow(
    std::chrono::milliseconds patience) {
  std::unique_lock lock(state_->mutex);
  const int64_t needed = state_->started + 1;
  state_->wanted = std::max(state_->wanted, needed);
  state_->changed.notify_all();
  const bool over = state_->changed.wait_for(lock, patience, [&] {
    return state_->finished >= needed || state_->stopping;
  });
  if (state_->finished < needed && state_->stopping) return Stopped();
  if (!over) {
    return absl::DeadlineExceededError(
        "the driver has not answered in time; run nvidia-smi to see whether it "
        "hangs");
  }
  return state_->latest;
}

}  // namespace memplan
