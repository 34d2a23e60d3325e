#include "server/devices/script_device_reader.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <fstream>
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
  CheckObject(object, pointer, {"pid", "name", "used"});
  const auto pid = object.find("pid");
  if (pid == object.end() || !pid->is_number_unsigned()) {
    throw WrongScript(pointer + "/pid", "a pid is needed, such as 4711");
  }
  return {.pid = pid->get<int64_t>(),
          .name = Text(object, pointer, "name"),
          .used = Amount(object, pointer, "used")};
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
               "driver_version", "read_error"});
  Device device;
  device.id = Text(object, pointer, "id");
  device.is_cpu = device.id == "cpu";
  if (!device.is_cpu && !device.id.starts_with("GPU-")) {
    throw WrongScript(pointer + "/id", "`cpu` or a text that begins with GPU-");
  }
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

DeviceSnapshot SnapshotFrom(const json& script) {
  CheckObject(script, "", {"devices", "gpu_absence_reason"});
  if (!script.contains("devices")) {
    throw WrongScript("/devices", "an array is needed, which may be empty");
  }
  DeviceSnapshot snapshot;
  const json& devices = Array(script, "", "devices");
  for (size_t i = 0; i < devices.size(); ++i) {
    const std::string pointer = absl::StrCat("/devices/", i);
    Device device = DeviceFrom(devices[i], pointer);
    if (FindDevice(snapshot, device.id) != nullptr) {
      throw WrongScript(pointer + "/id", "another device has this id");
    }
    snapshot.devices.push_back(std::move(device));
  }
  const bool has_gpu =
      std::any_of(snapshot.devices.begin(), snapshot.devices.end(),
                  [](const Device& device) { return !device.is_cpu; });
  snapshot.gpu_absence_reason = Text(script, "", "gpu_absence_reason");
  if (has_gpu) {
    snapshot.gpu_absence_reason.clear();
  } else if (snapshot.gpu_absence_reason.empty()) {
    snapshot.gpu_absence_reason = "the script of devices has none";
  }
  return snapshot;
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

absl::StatusOr<DeviceSnapshot> ReadScript(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return absl::NotFoundError(absl::StrCat(
        "the script of devices ", path,
        " cannot be read: ", std::generic_category().message(errno)));
  }
  std::ostringstream text;  // of a folder nothing comes
  text << file.rdbuf();
  absl::StatusOr<DeviceSnapshot> snapshot =
      ParseDeviceScript(std::move(text).str());
  if (snapshot.ok()) return snapshot;
  return absl::InvalidArgumentError(
      absl::StrCat("the script of devices ", path, ": ",
                   std::string(snapshot.status().message())));
}

}  // namespace

absl::StatusOr<DeviceSnapshot> ParseDeviceScript(std::string_view text) {
  try {
    return SnapshotFrom(json::parse(text));
  } catch (const json::parse_error& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(PlaceOf(text, error.byte), ": this is no JSON"));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(error.what());
  }
}

absl::StatusOr<DeviceReader> ScriptDeviceReader(std::string path) {
  MEMPLAN_ASSIGN_OR_RETURN(DeviceSnapshot first, ReadScript(path));
  return [path = std::move(path), last = std::move(first)]() mutable {
    absl::StatusOr<DeviceSnapshot> now = ReadScript(path);
    if (now.ok()) {
      last = *std::move(now);
    } else {
      for (Device& device : last.devices) {
        device.read_error = std::string(now.status().message());
      }
    }
    DeviceSnapshot snapshot = last;
    if (FindDevice(snapshot, "cpu") == nullptr) {
      snapshot.devices.push_back(ReadHostAsDevice());
    }
    return snapshot;
  };
}

}  // namespace memplan
