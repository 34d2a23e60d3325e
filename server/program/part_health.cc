#include "server/program/part_health.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "planner/base/format.h"
#include "server/program/tls.h"
#include "server/store/file.h"

namespace memplan {
namespace {

PartStatus Failing(std::string name, std::string detail) {
  return {std::move(name), false, std::move(detail)};
}

// What is wrong with the device, or nothing.
std::string FaultOf(const Device& device, const DeviceAges& ages) {
  if (!device.read_error.empty()) return device.read_error;
  const auto age = ages.find(device.id);
  if (age == ages.end() || age->second <= kStaleReading) return "";
  return absl::StrCat("the last reading is ", absl::ToInt64Seconds(age->second),
                      " s old; see whether the machine is overloaded");
}

}  // namespace

PartStatus DevicesHealth(const DeviceSnapshot* snapshot, const DeviceAges& ages,
                         int64_t expected_gpus) {
  if (snapshot == nullptr) {
    return Failing("devices",
                   "the driver has not answered yet; see whether `nvidia-smi` "
                   "hangs");
  }
  std::vector<std::string> failed;
  int64_t gpus = 0;
  for (const Device& device : snapshot->devices) {
    if (!device.is_cpu) ++gpus;
    const std::string fault = FaultOf(device, ages);
    if (!fault.empty()) failed.push_back(absl::StrCat(device.id, ": ", fault));
  }
  if (!failed.empty()) return Failing("devices", absl::StrJoin(failed, "; "));
  std::string there = absl::StrCat(gpus, gpus == 1 ? " GPU" : " GPUs");
  if (gpus == 0) there = absl::StrCat("no GPU: ", snapshot->gpu_absence_reason);
  if (gpus < expected_gpus) {
    return Failing(
        "devices",
        absl::StrCat("at least ", expected_gpus,
                     " GPUs are expected (expected_gpus), but: ", there));
  }
  return {"devices", true, std::move(there)};
}

PartStatus StoreHealth(const std::string& folder, Database& database) {
  if (access(folder.c_str(), W_OK) != 0) {
    return Failing("store",
                   absl::StrCat(folder, " cannot be written: ",
                                std::generic_category().message(errno),
                                "; see whether its disk is still mounted"));
  }
  const absl::StatusOr<int64_t> free_bytes = DiskFreeBytes(folder);
  if (!free_bytes.ok()) {
    return Failing("store", std::string(free_bytes.status().message()));
  }
  if (*free_bytes < kLeastStoreBytes) {
    return Failing("store",
                   absl::StrCat("the disk of ", folder, " has only ",
                                FormatBytes(Bytes(*free_bytes)),
                                " left; free space there, or delete models"));
  }
  const absl::Status answers = database.Check();
  if (!answers.ok()) return Failing("store", std::string(answers.message()));
  return {"store", true,
          absl::StrCat(FormatBytes(Bytes(*free_bytes)), " left on its disk")};
}

PartStatus WorkersHealth(const absl::Status& usable) {
  if (usable.ok()) return {"workers", true, "can be started"};
  return Failing("workers", std::string(usable.message()));
}

PartStatus TlsHealth(const TlsStatus& tls) {
  if (!tls.failure.empty()) return Failing("tls", tls.failure);
  return {"tls", true,
          absl::StrCat("the certificate expires on ", DateWords(tls.expiry))};
}

PartStatus NoWorkersHealth() {
  return {"workers", true, "none wanted: this daemon runs no probes"};
}

}  // namespace memplan
