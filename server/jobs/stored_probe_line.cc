// What a device's thread does about its line: waits until somebody is there, has
// the device read, and takes the first probe that has room.
#include <utility>

#include "server/jobs/stored_probe_jobs.h"

namespace memplan {

void StoredProbeJobs::RunDevice(const std::string& device_id) {
  std::unique_lock lock(mutex_);
  while (true) {
    work_changed_.wait(lock,
                       [&] { return draining_ || table_.CanTake(device_id); });
    if (draining_) return;
    // Read after the last worker was gone, so that none of ours is in it.
    lock.unlock();
    const std::optional<DeviceReading> reading = ReadDevice(device_id);
    lock.lock();
    if (draining_) return;
    HeldRoom held;
    const ProbePtr next = TakeRunnable(device_id, reading, held);
    TellWatchers();
    if (next == nullptr) {
      WaitForAChange(lock);
      continue;
    }
    RunningProbe running;
    running.id = next->id;
    running.workers_at_once = held.workers;
    running_[device_id] = &running;
    lock.unlock();
    RunProbe(*next, running, reading);
    held.hold = nullptr;
    lock.lock();
    running_.erase(device_id);
    table_.Release(device_id);
    TellWatchers();
    work_changed_.notify_all();
  }
}

std::optional<DeviceReading> StoredProbeJobs::ReadDevice(
    const std::string& device_id) {
  if (!options_.read_device) return std::nullopt;
  return options_.read_device(device_id);
}

// Until somebody comes into a line, or it is time to look again.
void StoredProbeJobs::WaitForAChange(std::unique_lock<std::mutex>& lock) {
  const int64_t seen = arrivals_;
  work_changed_.wait_for(lock, options_.look_again,
                         [&] { return draining_ || arrivals_ != seen; });
}

ProbeJobs::ProbePtr StoredProbeJobs::TakeRunnable(
    const std::string& device_id, const std::optional<DeviceReading>& reading,
    HeldRoom& held) {
  std::vector<std::pair<std::string, WaitingFor>> waiting;
  const auto may_run = [&](const Probe& probe) {
    std::optional<WaitingFor> missing;
    if (reading) missing = WhatIsMissing(probe, *reading);
    if (auto why = starts_.WhyResting(std::chrono::steady_clock::now())) {
      missing = WaitingFor{WaitingReason::kWorkers, *std::move(why)};
    }
    if (!missing) missing = HoldRoom(probe, reading, held);
    if (!missing) return true;
    waiting.emplace_back(probe.id, *std::move(missing));
    return false;
  };
  ProbePtr next = table_.TakeNext(device_id, may_run);
  for (auto& [id, missing] : waiting) {
    table_.SetWaitingFor(id, std::move(missing));
  }
  return next;
}

std::optional<WaitingFor> StoredProbeJobs::HoldRoom(
    const Probe& probe, const std::optional<DeviceReading>& reading,
    HeldRoom& held) const {
  if (!options_.hold_room || !reading || !reading->ok()) return std::nullopt;
  Options::Room room = options_.hold_room(probe, ***reading);
  if (auto* missing = std::get_if<WaitingFor>(&room)) {
    return std::move(*missing);
  }
  held = std::get<HeldRoom>(std::move(room));
  return std::nullopt;
}

}  // namespace memplan
