#include "server/jobs/device_room.h"

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "planner/base/format.h"

namespace memplan {
namespace {

constexpr size_t kNamedProcesses = 3;
constexpr int kMostWorkers = 4;

Bytes ContextOf(const Probe& probe) {
  Bytes seen;
  for (const Trial& trial : probe.trials) {
    seen = std::max(seen, trial.context.value_or(Bytes(0)));
  }
  return seen > Bytes(0) ? seen : kExpectedContext;
}

// `; pid 4711 (python) holds 70.0 GiB`, for the largest.
std::string Holders(const Device& device) {
  std::string words;
  const size_t named = std::min(device.processes.size(), kNamedProcesses);
  for (size_t i = 0; i < named; ++i) {
    const DeviceProcess& process = device.processes[i];
    absl::StrAppend(
        &words, "; pid ", process.pid,
        process.name.empty() ? "" : absl::StrCat(" (", process.name, ")"),
        process.used ? absl::StrCat(" holds ", FormatBytes(*process.used))
                     : " is there");
  }
  if (device.processes.size() > named) {
    absl::StrAppend(&words, "; and ", device.processes.size() - named,
                    " processes more");
  }
  return words;
}

// `the budget needs 16.0 GiB`.
std::string NeedWords(const Probe& probe) {
  const auto& [cap, budget] = probe.spec.limit;
  const std::string needed = FormatBytes(BytesNeeded(probe));
  if (budget) return absl::StrCat("the budget needs ", needed);
  if (!cap) return absl::StrCat("a worker's context alone needs ", needed);
  return absl::StrCat(
      "the cap", probe.spec.device_id == "cpu" ? "" : " and a context", " need",
      probe.spec.device_id == "cpu" ? "s " : " ", needed);
}

std::optional<Bytes> LeftOn(const Device& device) {
  if (device.free || !device.total || !device.used) return device.free;
  return *device.total - *device.used -
         device.driver_reserve.value_or(Bytes(0));
}

// How many workers hold a context on the GPU at one time.
int WorkersOf(const ProbeSpec& spec) {
  return std::holds_alternative<SearchOptions>(spec.task) &&
                 spec.method != SearchMethod::kBisect
             ? 2
             : 1;
}

}  // namespace

Bytes BytesNeeded(const Probe& probe) {
  const auto& [cap, budget] = probe.spec.limit;
  if (budget) return *budget;
  const bool on_cpu = probe.spec.device_id == "cpu";
  if (on_cpu) return cap.value_or(Bytes(0));
  return cap.value_or(Bytes(0)) + ContextOf(probe) * WorkersOf(probe.spec);
}

int WorkersWithRoom(const Probe& probe, const Device& device) {
  const auto& [cap, budget] = probe.spec.limit;
  const bool has_two = !device.is_cpu && WorkersOf(probe.spec) == 2;
  const std::optional<Bytes> left = LeftOn(device);
  if (!has_two || !cap || budget || !left) return 1;
  for (int workers = kMostWorkers; workers > 2; --workers) {
    if (BytesForWorkers(probe, workers) * 2 <= *left) return workers;
  }
  return BytesForWorkers(probe, 2) <= *left ? 2 : 1;
}

Bytes BytesForWorkers(const Probe& probe, int workers) {
  return (probe.spec.limit.cap.value_or(Bytes(0)) + ContextOf(probe)) * workers;
}

Bytes BytesAwaited(const Probe& probe, const Device& device) {
  const Bytes needed = BytesNeeded(probe);
  if (device.is_cpu || !device.total) return needed;
  const Bytes usable = *device.total - device.driver_reserve.value_or(Bytes(0));
  if (needed <= usable) return needed;
  return usable - std::min(device.unattributed.value_or(Bytes(0)), usable);
}

std::optional<WaitingFor> WhatIsMissing(const Probe& probe,
                                        const DeviceReading& reading) {
  const std::string& id = probe.spec.device_id;
  const std::string words(reading.status().message());
  if (absl::IsNotFound(reading.status())) {
    return WaitingFor{WaitingReason::kDeviceLost, words};
  }
  if (!reading.ok()) {
    return WaitingFor{
        WaitingReason::kDeviceNotRead,
        absl::StrCat("nobody knows what ", id, " has left: ", words)};
  }
  const Device& device = **reading;
  if (!device.read_error.empty()) {
    return WaitingFor{WaitingReason::kDeviceLost,
                      absl::StrCat(id, " cannot be read: ", device.read_error)};
  }
  if (probe.spec.only_when_idle && !device.processes.empty()) {
    return WaitingFor{
        WaitingReason::kIdle,
        absl::StrCat("the probe is to run alone on ", id, Holders(device))};
  }
  const std::optional<Bytes> left = LeftOn(device);
  const Bytes awaited = BytesAwaited(probe, device);
  if (!left || *left >= awaited) return std::nullopt;
  return WaitingFor{
      WaitingReason::kRoom,
      absl::StrCat(id, " has ", FormatBytes(*left), " left; ", NeedWords(probe),
                   awaited < BytesNeeded(probe)
                       ? ", more than it has in all, so that it "
                         "starts when all others have gone"
                       : "",
                   Holders(device))};
}

std::optional<Bytes> LeftOn(const DeviceReading& reading) {
  if (!reading.ok()) return std::nullopt;
  return LeftOn(**reading);
}

std::optional<Bytes> RoomBesideOthers(const DeviceReading& reading,
                                      OwnWorkers own, const OwnerOf& owner_of) {
  std::optional<Bytes> room = LeftOn(reading);
  if (!room || !(*reading)->read_error.empty()) return std::nullopt;
  if (own == OwnWorkers::kNone) return room;
  for (const DeviceProcess& process : (*reading)->processes) {
    const ProcessOwner owner =
        owner_of ? owner_of(process.pid) : ProcessOwner::kUnknown;
    if (owner == ProcessOwner::kOthers) continue;
    if (owner == ProcessOwner::kUnknown || !process.used) return std::nullopt;
    *room += *process.used;
  }
  return room;
}

std::string DeviceIdentity(const DeviceReading& reading) {
  if (!reading.ok()) return "";
  const Device& device = **reading;
  if (device.is_cpu) return device.id;
  return absl::StrCat(
      device.id, ", ", device.display_name, ", ",
      device.total ? absl::StrCat(device.total->count(), " bytes") : "",
      ", driver ", device.driver_version);
}

}  // namespace memplan
