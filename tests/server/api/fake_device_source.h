// Sources of devices that a test plays.
#ifndef MEMPLAN_TESTS_SERVER_API_FAKE_DEVICE_SOURCE_H_
#define MEMPLAN_TESTS_SERVER_API_FAKE_DEVICE_SOURCE_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/devices/device_snapshot.h"
#include "server/devices/device_source.h"

namespace memplan::testing {

// Lists what a function returns, and reads what it listed.
class SnapshotSource final : public DeviceSource {
 public:
  explicit SnapshotSource(std::function<DeviceSnapshot()> read)
      : read_(std::move(read)) {}

  DeviceListing List() override {
    const DeviceSnapshot snapshot = read_();
    DeviceListing listing;
    listing.gpu_absence_reason = snapshot.gpu_absence_reason;
    for (const Device& device : snapshot.devices) {
      listing.places.push_back({.key = device.id, .unread = device});
    }
    return listing;
  }
  Device Read(const DevicePlace& place) override { return place.unread; }

 private:
  const std::function<DeviceSnapshot()> read_;
};

// Devices whose readings, and whose list (under the name kList), hang until they
// are let go, as all are when it is given up.
class HangingSource final : public DeviceSource {
 public:
  static constexpr char kList[] = "list";

  HangingSource(std::vector<std::string> ids, std::set<std::string> hanging)
      : ids_(std::move(ids)), hanging_(std::move(hanging)) {}

  DeviceListing List() override {
    std::unique_lock lock(mutex_);
    Enter(kList, lock);
    DeviceListing listing;
    for (const std::string& id : ids_) {
      DevicePlace& place = listing.places.emplace_back();
      place.key = id;
      place.unread.id = named_ ? id : "GPU-unreadable";
      place.unread.display_name = "unread";
      place.named = named_;
    }
    return listing;
  }
  Device Read(const DevicePlace& place) override {
    std::unique_lock lock(mutex_);
    Enter(place.key, lock);
    Device device;
    device.id = place.key;
    device.total = GiB(80);
    device.used = GiB(1);
    device.free = GiB(79);
    return device;
  }

  void Hang(const std::string& what) {
    const std::lock_guard lock(mutex_);
    hanging_.insert(what);
  }
  void LetGo(const std::string& what) {
    const std::lock_guard lock(mutex_);
    hanging_.erase(what);
    changed_.notify_all();
  }
  void LetAllGo() {
    const std::lock_guard lock(mutex_);
    hanging_.clear();
    changed_.notify_all();
  }
  void SetIds(std::vector<std::string> ids) {
    const std::lock_guard lock(mutex_);
    ids_ = std::move(ids);
  }
  // Lists no names, as a driver that tells those of devices it has read only.
  void HideNames() {
    const std::lock_guard lock(mutex_);
    named_ = false;
  }
  // Waits until `calls` have begun.
  void WaitForCalls(const std::string& what, int calls) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return begun_[what] >= calls; });
  }
  // Calls of `what` that hang now.
  int Hanging(const std::string& what) {
    const std::lock_guard lock(mutex_);
    return inside_[what];
  }

 private:
  void Enter(const std::string& what, std::unique_lock<std::mutex>& lock) {
    ++begun_[what];
    ++inside_[what];
    changed_.notify_all();
    changed_.wait(lock, [&] { return !hanging_.contains(what); });
    --inside_[what];
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> ids_;
  std::set<std::string> hanging_;
  std::map<std::string, int> begun_;
  std::map<std::string, int> inside_;
  bool named_ = true;
};

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SERVER_API_FAKE_DEVICE_SOURCE_H_
