#include "server/devices/device_monitor.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/base/reason.h"
#include "server/devices/device_table.h"

namespace memplan {
namespace {

using Clock = std::chrono::steady_clock;
using SnapshotPtr = std::shared_ptr<const DeviceSnapshot>;

// How long the destructor waits for readings in progress.
constexpr std::chrono::seconds kFarewell{2};

struct Waiter {
  std::string id;  // empty: waits for all devices
  Clock::time_point deadline;
  DeviceMonitor::SnapshotCallback done;
};

absl::Status NotRead(const char* why) {
  return WithReason(absl::UnavailableError(why), "DEVICES_NOT_READ");
}

absl::Status Stopped() { return NotRead("the daemon is shutting down"); }

absl::Status PatienceIsOver() {
  return NotRead(
      "the devices have not been read yet: the driver is slow or hangs; try "
      "again, and run nvidia-smi if this goes on");
}

}  // namespace

// Each source's list and each device have a thread that calls into the driver.
// One more thread watches: it finds late readings, and answers those who wait.
struct DeviceMonitor::State : std::enable_shared_from_this<State> {
  State(const DeviceSources& sources, const Timing& when)
      : timing(when), table(sources, when.deadline) {}

  void Start();
  void Watch();
  void PollList(PolledSource& source);
  void PollDevice(PolledDevice& device);
  template <typename Call, typename Keep>
  void PollUntilStopped(Poll& poll, Call call, Keep keep);

  // With `mutex` held:
  void StartReading(const std::shared_ptr<PolledDevice>& device);
  void KeepReading(PolledDevice& device, Device read);
  void Publish();
  void MarkLate(Clock::time_point now);
  bool IsReady(const Waiter& waiter) const;
  std::vector<Waiter> TakeWaiters(const std::function<bool(const Waiter&)>& of);
  std::optional<Clock::time_point> NextDeadline();
  Clock::time_point NextReading() const;
  absl::Status WhyUnknown(const std::string& id) const;

  const Timing timing;
  const Clock::time_point begun = Clock::now();

  std::mutex mutex;
  std::condition_variable changed;
  // All below under `mutex`.
  DeviceTable table;
  SnapshotPtr known = std::make_shared<DeviceSnapshot>();
  bool settled = false;  // all devices have been, once
  int64_t readings = 0;
  std::vector<Waiter> waiters;
  bool stopping = false;

  std::thread watching;
};

void DeviceMonitor::State::Start() {
  const std::lock_guard lock(mutex);
  for (const auto& source : table.sources()) {
    source->poll.thread = std::thread(
        [self = shared_from_this(), source] { self->PollList(*source); });
  }
  watching = std::thread([this] { Watch(); });
}

// Calls `call`, and gives what it returns to `keep` with the mutex held.
template <typename Call, typename Keep>
void DeviceMonitor::State::PollUntilStopped(Poll& poll, Call call, Keep keep) {
  std::unique_lock lock(mutex);
  while (!stopping && !poll.retired) {
    ++poll.started;
    poll.late_at = Clock::now() + timing.deadline;
    changed.notify_all();
    lock.unlock();
    auto result = call();
    lock.lock();
    poll.finished = poll.started;
    poll.late = false;
    keep(std::move(result));
    Publish();
    changed.wait_until(lock, NextReading(), [&] {
      return stopping || poll.retired || poll.wanted > poll.finished;
    });
  }
  poll.ended = true;
  changed.notify_all();
}

void DeviceMonitor::State::PollList(PolledSource& source) {
  PollUntilStopped(
      source.poll, [&] { return source.source->List(); },
      [&](DeviceListing listing) {
        if (stopping) return;
        for (const auto& added : table.Take(source, std::move(listing))) {
          StartReading(added);
        }
      });
}

void DeviceMonitor::State::PollDevice(PolledDevice& device) {
  const auto read = [&] {
    std::unique_lock lock(mutex);
    const DevicePlace place = device.place;
    lock.unlock();
    return device.source->Read(place);
  };
  PollUntilStopped(device.poll, read,
                   [&](Device now) { KeepReading(device, std::move(now)); });
}

void DeviceMonitor::State::StartReading(
    const std::shared_ptr<PolledDevice>& device) {
  Poll& poll = device->poll;
  try {
    poll.thread = std::thread([self = shared_from_this(), kept = device] {
      self->PollDevice(*kept);
    });
  } catch (const std::system_error& error) {
    // The next list tries again.
    poll.ended = true;
    Device unread = device->place.unread;
    unread.read_error =
        absl::StrCat("no thread could be started to read it: ", error.what());
    device->last = std::make_shared<const Device>(std::move(unread));
  }
}

void DeviceMonitor::State::KeepReading(PolledDevice& device, Device read) {
  read.snapshot_id = ++readings;
  read.sample_time = absl::Now();
  device.last = std::make_shared<const Device>(std::move(read));
}

void DeviceMonitor::State::Publish() {
  known = std::make_shared<const DeviceSnapshot>(table.Snapshot());
  settled = settled || table.AllSettled();
  changed.notify_all();
}

// All read at the same moments, so that they share what a source opens for it.
Clock::time_point DeviceMonitor::State::NextReading() const {
  const auto over = (Clock::now() - begun) / timing.interval;
  return begun + (over + 1) * timing.interval;
}

void DeviceMonitor::State::MarkLate(Clock::time_point now) {
  bool found = false;
  table.ForEachPoll([&](Poll& poll) {
    if (!poll.InProgress() || poll.late || poll.late_at > now) return;
    poll.late = true;
    found = true;
  });
  if (found) Publish();
}

bool DeviceMonitor::State::IsReady(const Waiter& waiter) const {
  return settled || table.IsSettled(waiter.id);
}

std::vector<Waiter> DeviceMonitor::State::TakeWaiters(
    const std::function<bool(const Waiter&)>& of) {
  const auto first = std::stable_partition(
      waiters.begin(), waiters.end(),
      [&of](const Waiter& waiter) { return !of(waiter); });
  std::vector<Waiter> taken(std::make_move_iterator(first),
                            std::make_move_iterator(waiters.end()));
  waiters.erase(first, waiters.end());
  return taken;
}

std::optional<Clock::time_point> DeviceMonitor::State::NextDeadline() {
  std::optional<Clock::time_point> next;
  const auto consider = [&next](Clock::time_point deadline) {
    next = next ? std::min(*next, deadline) : deadline;
  };
  for (const Waiter& waiter : waiters) consider(waiter.deadline);
  table.ForEachPoll([&](const Poll& poll) {
    if (poll.InProgress() && !poll.late) consider(poll.late_at);
  });
  return next;
}

void DeviceMonitor::State::Watch() {
  std::unique_lock lock(mutex);
  while (!stopping) {
    const Clock::time_point now = Clock::now();
    MarkLate(now);
    const std::vector<Waiter> served =
        TakeWaiters([this](const Waiter& waiter) { return IsReady(waiter); });
    const std::vector<Waiter> expired = TakeWaiters(
        [now](const Waiter& waiter) { return waiter.deadline <= now; });
    if (!served.empty() || !expired.empty()) {
      const SnapshotPtr snapshot = known;
      lock.unlock();
      for (const Waiter& waiter : served) waiter.done(snapshot);
      for (const Waiter& waiter : expired) waiter.done(PatienceIsOver());
      lock.lock();
      continue;
    }
    if (const auto next = NextDeadline()) {
      changed.wait_until(lock, *next);
    } else {
      changed.wait(lock);
    }
  }
}

absl::Status DeviceMonitor::State::WhyUnknown(const std::string& id) const {
  if (!settled || !known->gpus_known) {
    return absl::DeadlineExceededError(table.LateWords(Device()));
  }
  const std::string& absence = known->gpu_absence_reason;
  return absl::NotFoundError(
      absl::StrCat(id, " is not among the devices any more",
                   absence.empty() ? "" : ": ", absence));
}

DeviceMonitor::DeviceMonitor(const DeviceSources& sources, Timing timing)
    : state_(std::make_shared<State>(sources, timing)) {
  state_->Start();
}

DeviceMonitor::~DeviceMonitor() { Stop(kFarewell); }

void DeviceMonitor::Stop(std::chrono::milliseconds patience) {
  std::unique_lock lock(state_->mutex);
  if (std::exchange(state_->stopping, true)) return;
  state_->changed.notify_all();
  const std::vector<Waiter> left = std::exchange(state_->waiters, {});
  lock.unlock();
  for (const Waiter& waiter : left) waiter.done(Stopped());
  state_->watching.join();
  lock.lock();
  const auto each = [this](const std::function<void(Poll&)>& visit) {
    state_->table.ForEachPoll(visit);
  };
  state_->changed.wait_for(lock, patience, [&each] {
    bool all_ended = true;
    each([&](Poll& poll) { all_ended &= poll.ended || poll.late; });
    return all_ended;
  });
  std::vector<std::thread> ended;
  each([&ended](Poll& poll) {
    if (!poll.thread.joinable()) return;
    if (poll.ended) {
      ended.push_back(std::move(poll.thread));
    } else {
      poll.thread.detach();
    }
  });
  lock.unlock();
  for (std::thread& thread : ended) thread.join();
}

SnapshotPtr DeviceMonitor::Latest() const {
  const std::lock_guard lock(state_->mutex);
  return state_->settled ? state_->known : nullptr;
}

void DeviceMonitor::WhenRead(const std::string& id,
                             std::chrono::milliseconds patience,
                             SnapshotCallback done) {
  Waiter waiter = {
      .id = id, .deadline = Clock::now() + patience, .done = std::move(done)};
  std::unique_lock lock(state_->mutex);
  if (state_->IsReady(waiter)) {
    const SnapshotPtr snapshot = state_->known;
    lock.unlock();
    waiter.done(snapshot);
  } else if (state_->stopping) {
    lock.unlock();
    waiter.done(Stopped());
  } else {
    state_->waiters.push_back(std::move(waiter));
    state_->changed.notify_all();
  }
}

DeviceReading DeviceMonitor::ReadNow(const std::string& id,
                                     std::chrono::milliseconds patience) {
  State& state = *state_;
  const Clock::time_point deadline = Clock::now() + patience;
  std::unique_lock lock(state.mutex);
  std::shared_ptr<PolledDevice> device;
  state.changed.wait_until(lock, deadline, [&] {
    device = state.table.Find(id);
    return device != nullptr || state.settled || state.stopping;
  });
  if (state.stopping) return Stopped();
  if (device == nullptr) return state.WhyUnknown(id);
  Poll& poll = device->poll;
  const int64_t needed = poll.started + 1;
  poll.wanted = std::max(poll.wanted, needed);
  state.changed.notify_all();
  state.changed.wait_until(lock, deadline, [&] {
    return poll.finished >= needed || poll.late || poll.ended || state.stopping;
  });
  if (poll.finished >= needed && device->last->id == id) return device->last;
  if (state.stopping) return Stopped();
  if (poll.finished >= needed || poll.ended) return state.WhyUnknown(id);
  return absl::DeadlineExceededError(
      state.table.LateWords(device->place.unread));
}

}  // namespace memplan
