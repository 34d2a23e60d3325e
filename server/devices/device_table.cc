#include "server/devices/device_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace memplan {
namespace {

using DevicePtr = std::shared_ptr<PolledDevice>;

std::string_view IdOf(const PolledDevice& device) {
  if (device.last != nullptr) return device.last->id;
  return device.place.unread.id;
}

bool IsSettledDevice(const PolledDevice& device) {
  return device.last != nullptr || device.poll.late;
}

// `device` when nobody knows what it holds now.
void ForgetWhatMayHaveChanged(Device& device) {
  device.used.reset();
  device.free.reset();
  device.unattributed.reset();
  device.processes.clear();
}

// Removes the device of `key` from `devices` and returns it, or null.
DevicePtr Extract(std::vector<DevicePtr>& devices, const std::string& key) {
  const auto found = std::find_if(
      devices.begin(), devices.end(),
      [&key](const DevicePtr& device) { return device->place.key == key; });
  if (found == devices.end()) return nullptr;
  DevicePtr device = *found;
  devices.erase(found);
  return device;
}

}  // namespace

DeviceTable::DeviceTable(const DeviceSources& sources,
                         std::chrono::milliseconds deadline)
    : deadline_(deadline) {
  for (const std::shared_ptr<DeviceSource>& source : sources) {
    sources_.push_back(
        std::make_shared<PolledSource>(PolledSource{.source = source}));
  }
}

std::vector<DevicePtr> DeviceTable::Take(PolledSource& source,
                                         DeviceListing listing) {
  std::vector<DevicePtr> before = std::exchange(source.devices, {});
  std::vector<DevicePtr> added;
  for (const DevicePlace& place : listing.places) {
    DevicePtr device = Extract(before, place.key);
    if (device != nullptr && !device->poll.ended) {
      device->poll.retired = false;
      device->place = place;
    } else {
      if (device != nullptr) before.push_back(std::move(device));
      device = std::make_shared<PolledDevice>(
          PolledDevice{.source = source.source, .place = place});
      added.push_back(device);
    }
    source.devices.push_back(std::move(device));
  }
  for (DevicePtr& device : before) {
    device->poll.retired = true;
    if (!device->poll.ended) {
      source.devices.push_back(std::move(device));
    } else if (device->poll.thread.joinable()) {
      device->poll.thread.join();  // it has nothing more to do
    }
  }
  source.listing = std::move(listing);
  return added;
}

DevicePtr DeviceTable::Find(std::string_view id) const {
  for (const auto& source : sources_) {
    for (const DevicePtr& device : source->devices) {
      if (!device->poll.retired && IdOf(*device) == id) return device;
    }
  }
  return nullptr;
}

bool DeviceTable::IsSettled(std::string_view id) const {
  const DevicePtr device = Find(id);
  return device != nullptr && IsSettledDevice(*device);
}

bool DeviceTable::AllSettled() const {
  return std::all_of(sources_.begin(), sources_.end(), [](const auto& source) {
    if (!source->listing) return source->poll.late;
    return std::all_of(source->devices.begin(), source->devices.end(),
                       [](const DevicePtr& device) {
                         return device->poll.retired ||
                                IsSettledDevice(*device);
                       });
  });
}

DeviceSnapshot DeviceTable::Snapshot() const {
  DeviceSnapshot snapshot;
  for (const auto& source : sources_) {
    if (source->listing) {
      absl::StrAppend(&snapshot.gpu_absence_reason,
                      source->listing->gpu_absence_reason);
    } else {
      snapshot.gpus_known = false;
      if (!source->poll.late) continue;
      Device& unlisted = snapshot.devices.emplace_back();
      unlisted.id = kUnreadableGpu;
      unlisted.read_error = LateWords(unlisted);
    }
    for (const DevicePtr& device : source->devices) {
      if (device->poll.retired) continue;
      if (device->last == nullptr && !device->place.named) {
        snapshot.gpus_known = false;
      }
      if (!IsSettledDevice(*device)) continue;
      Device& added = snapshot.devices.emplace_back(
          device->last != nullptr ? *device->last : device->place.unread);
      if (!device->poll.late) continue;
      ForgetWhatMayHaveChanged(added);
      added.read_error = LateWords(added);
    }
  }
  return snapshot;
}

std::string DeviceTable::LateWords(const Device& device) const {
  const double seconds = std::chrono::duration<double>(deadline_).count();
  if (device.is_cpu) {
    return absl::StrCat("the host has not said within ", seconds,
                        " s what memory it has; see whether /proc hangs");
  }
  return absl::StrCat("the driver has not answered within ", seconds,
                      " s; see whether `nvidia-smi` hangs");
}

void DeviceTable::ForEachPoll(const std::function<void(Poll&)>& visit) {
  for (const auto& source : sources_) {
    visit(source->poll);
    for (const DevicePtr& device : source->devices) visit(device->poll);
  }
}

}  // namespace memplan
