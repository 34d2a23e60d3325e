#include "server/devices/script_device_source.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <exception>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "planner/base/format.h"
#include "planner/base/status_macros.h"
#include "server/devices/host_device.h"

namespace memplan {
namespace {

using nlohmann::json;

constexpr const char* kScriptedDriver = "scripted";

// What is wrong, and where; caught by ParseDeviceScript alone.
class WrongScript : public std::runtime_error {
 public:
  WrongScript(const std::string& pointer, const std::string& words)
      : std::runtime_error((pointer.empty() ? "/" : pointer) + ": " + words) {}
};

// An object that may have these members and no others.
void CheckObject(const json& object, const std::string& pointer,
                 const std::set<std::string>& members) {
  if (!object.is_object()) throw WrongScript(pointer, "an object is needed");
  for (const auto& [name, value] : object.items()) {
    if (members.contains(name)) continue;
    std::string known;
    for (const std::string& member : members) {
      if (!known.empty()) known += ", ";
      known += member;
    }
    std::string where = pointer;
    where.append("/").append(name);
    std::string words = "no such member; there are ";
    words += known;
    throw WrongScript(where, words);
  }
}

std::string Text(const json& object, const std::string& pointer,
                 const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return "";
  if (!found->is_string()) {
    throw WrongScript(pointer + "/" + name, "a text is needed");
  }
  return found->get<std::string>();
}

std::optional<Bytes> Amount(const json& object, const std::string& pointer,
                            const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return std::nullopt;
  const std::string where = pointer + "/" + name;
  if (found->is_string()) {
    const auto amount = ParseBytes(found->get<std::string>());
    if (amount.ok()) return *amount;
    throw WrongScript(where, std::string(amount.status().message()));
  }
  if (!found->is_number_unsigned() || found->get<uint64_t>() > uint64_t{1}
                                                                   << 60) {
    throw WrongScript(where,
                      "bytes from 0 to 2^60 are needed, or a text such as "
                      "\"80GiB\"");
  }
  return Bytes(found->get<int64_t>());
}

bool Flag(const json& object, const std::string& pointer, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return false;
  if (!found->is_boolean()) {
    throw WrongScript(pointer + "/" + name, "true or false is needed");
  }
  return found->get<bool>();
}

std::optional<int32_t> Number(const json& object, const std::string& pointer,
                              const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return std::nullopt;
  constexpr uint64_t kMost = 1024;
  if (!found->is_number_unsigned() || found->get<uint64_t>() > kMost) {
    throw WrongScript(pointer + "/" + name,
                      "a number from 0 to 1024 is needed");
  }
  return found->get<int32_t>();
}

const json& Array(const json& object, const std::string& pointer,
                  const char* name) {
  static const json none = json::array();
  const auto found = object.find(name);
  if (found == object.end()) return none;
  if (!found->is_array()) {
    throw WrongScript(pointer + "/" + name, "an array is needed");
  }
  return *found;
}

DeviceProcess ProcessFrom(const json& object, const std::string& pointer) {
  CheckObject(object, pointer, {"pid", "name", "used", "residual"});
  const auto pid = object.find("pid");
  if (pid == object.end() || !pid->is_number_unsigned()) {
    throw WrongScript(pointer + "/pid", "a pid is needed, such as 4711");
  }
  return {.pid = pid->get<int64_t>(),
          .name = Text(object, pointer, "name"),
          .used = Amount(object, pointer, "used"),
          .residual = Flag(object, pointer, "residual")};
}

// The laws of a device: total = driver reserve + used + free, and what no known
// process holds is unattributed.
void Complete(Device& device, const std::string& pointer) {
  Bytes held;
  for (const DeviceProcess& process : device.processes) {
    held += process.used.value_or(Bytes(0));
  }
  if (!device.used && device.total) device.used = held;
  if (!device.used) return;
  if (*device.used < held) {
    throw WrongScript(
        pointer + "/used",
        absl::StrCat("its processes hold ", FormatBytes(held),
                     ", which is more than ", FormatBytes(*device.used)));
  }
  device.unattributed = *device.used - held;
  if (!device.total) return;
  const Bytes taken = *device.used + device.driver_reserve.value_or(Bytes(0));
  if (taken > *device.total) {
    throw WrongScript(pointer + "/total",
                      absl::StrCat(FormatBytes(*device.total),
                                   " is less than what is used and reserved, ",
                                   FormatBytes(taken)));
  }
  device.free = *device.total - taken;
}

Device DeviceFrom(const json& object, const std::string& pointer) {
  CheckObject(object, pointer,
              {"id", "name", "total", "driver_reserve", "used", "processes",
               "driver_version", "read_error", "hangs", "pci", "nvml_index",
               "cuda_index", "minor_number", "parent", "partitioned"});
  Device device;
  device.id = Text(object, pointer, "id");
  device.is_cpu = device.id == "cpu";
  if (!device.is_cpu && !device.id.starts_with("GPU-") &&
      !device.id.starts_with("MIG-")) {
    throw WrongScript(pointer + "/id",
                      "`cpu` or a text that begins with GPU- or MIG-");
  }
  device.pci_bus_id = Text(object, pointer, "pci");
  device.nvml_index = Number(object, pointer, "nvml_index");
  device.cuda_index = Number(object, pointer, "cuda_index");
  device.minor_number = Number(object, pointer, "minor_number");
  device.parent_id = Text(object, pointer, "parent");
  device.is_partitioned = Flag(object, pointer, "partitioned");
  device.display_name = Text(object, pointer, "name");
  device.total = Amount(object, pointer, "total");
  device.driver_reserve = Amount(object, pointer, "driver_reserve");
  device.used = Amount(object, pointer, "used");
  device.read_error = Text(object, pointer, "read_error");
  device.driver_version = Text(object, pointer, "driver_version");
  if (device.driver_version.empty() && !device.is_cpu) {
    device.driver_version = kScriptedDriver;
  }
  const json& processes = Array(object, pointer, "processes");
  for (size_t i = 0; i < processes.size(); ++i) {
    device.processes.push_back(
        ProcessFrom(processes[i], absl::StrCat(pointer, "/processes/", i)));
  }
  std::stable_sort(device.processes.begin(), device.processes.end(),
                   [](const DeviceProcess& a, const DeviceProcess& b) {
                     return a.used.value_or(Bytes(0)) >
                            b.used.value_or(Bytes(0));
                   });
  Complete(device, pointer);
  return device;
}

const Device* FindIn(const DeviceScript& script, std::string_view id) {
  const auto found =
      std::find_if(script.devices.begin(), script.devices.end(),
                   [id](const Device& device) { return device.id == id; });
  return found == script.devices.end() ? nullptr : &*found;
}

DeviceScript ScriptFrom(const json& script) {
  CheckObject(script, "", {"devices", "gpu_absence_reason"});
  if (!script.contains("devices")) {
    throw WrongScript("/devices", "an array is needed, which may be empty");
  }
  DeviceScript read;
  const json& devices = Array(script, "", "devices");
  for (size_t i = 0; i < devices.size(); ++i) {
    const std::string pointer = absl::StrCat("/devices/", i);
    Device device = DeviceFrom(devices[i], pointer);
    if (FindIn(read, device.id) != nullptr) {
      throw WrongScript(pointer + "/id", "another device has this id");
    }
    if (Flag(devices[i], pointer, "hangs")) read.hanging.insert(device.id);
    read.devices.push_back(std::move(device));
  }
  const bool has_gpu =
      std::any_of(read.devices.begin(), read.devices.end(),
                  [](const Device& device) { return !device.is_cpu; });
  read.gpu_absence_reason = Text(script, "", "gpu_absence_reason");
  if (has_gpu) {
    read.gpu_absence_reason.clear();
  } else if (read.gpu_absence_reason.empty()) {
    read.gpu_absence_reason = "the script of devices has none";
  }
  return read;
}

// `line 3, column 7` of the byte before `end`.
std::string PlaceOf(std::string_view text, size_t end) {
  const std::string_view before = text.substr(0, end > 0 ? end - 1 : 0);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t last = before.rfind('\n');
  const size_t column =
      before.size() - (last == std::string_view::npos ? 0 : last + 1) + 1;
  return absl::StrCat("line ", line, ", column ", column);
}

absl::StatusOr<DeviceScript> ReadScript(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return absl::NotFoundError(absl::StrCat(
        "the script of devices ", path,
        " cannot be read: ", std::generic_category().message(errno)));
  }
  std::ostringstream text;  // of a folder nothing comes
  text << file.rdbuf();
  absl::StatusOr<DeviceScript> script =
      ParseDeviceScript(std::move(text).str());
  if (script.ok()) return script;
  return absl::InvalidArgumentError(
      absl::StrCat("the script of devices ", path, ": ",
                   std::string(script.status().message())));
}

// Every list and reading takes the file in; a reading that hangs waits until one
// of those finds that it no longer does.
class ScriptSource final : public DeviceSource {
 public:
  ScriptSource(std::string path, DeviceScript first)
      : path_(std::move(path)), script_(std::move(first)) {}

  DeviceListing List() override {
    const std::lock_guard lock(mutex_);
    TakeIn();
    DeviceListing listing;
    listing.gpu_absence_reason = script_.gpu_absence_reason;
    for (const Device& device : script_.devices) {
      listing.places.push_back({.key = device.id, .unread = Unread(device)});
    }
    if (FindIn(script_, "cpu") == nullptr) {
      listing.places.push_back(HostPlace());
    }
    return listing;
  }

  Device Read(const DevicePlace& place) override {
    std::unique_lock lock(mutex_);
    TakeIn();
    changed_.wait(lock, [&] { return !script_.hanging.contains(place.key); });
    if (const Device* device = FindIn(script_, place.key)) return *device;
    lock.unlock();
    if (place.unread.is_cpu) return ReadHostAsDevice();
    Device gone = place.unread;
    gone.read_error = "the script of devices has it no more";
    return gone;
  }

 private:
  static Device Unread(const Device& device) {
    Device unread;
    unread.id = device.id;
    unread.is_cpu = device.is_cpu;
    unread.display_name = device.display_name;
    unread.driver_version = device.driver_version;
    unread.pci_bus_id = device.pci_bus_id;
    unread.nvml_index = device.nvml_index;
    unread.cuda_index = device.cuda_index;
    unread.minor_number = device.minor_number;
    unread.parent_id = device.parent_id;
    unread.is_partitioned = device.is_partitioned;
    return unread;
  }

  // With mutex_ held.
  void TakeIn() {
    absl::StatusOr<DeviceScript> now = ReadScript(path_);
    if (now.ok()) {
      script_ = *std::move(now);
    } else {
      for (Device& device : script_.devices) {
        device.read_error = std::string(now.status().message());
      }
    }
    changed_.notify_all();
  }

  const std::string path_;
  std::mutex mutex_;
  std::condition_variable changed_;
  DeviceScript script_;  // as last read; under mutex_
};

}  // namespace

absl::StatusOr<DeviceScript> ParseDeviceScript(std::string_view text) {
  try {
    return ScriptFrom(json::parse(text));
  } catch (const json::parse_error& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(PlaceOf(text, error.byte), ": this is no JSON"));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(error.what());
  }
}

absl::StatusOr<std::shared_ptr<DeviceSource>> ScriptDeviceSource(
    std::string path) {
  MEMPLAN_ASSIGN_OR_RETURN(DeviceScript first, ReadScript(path));
  return std::make_shared<ScriptSource>(std::move(path), std::move(first));
}

}  // namespace memplan
