#include "cuda/nvml/nvml_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace memplan::gpu {
namespace {

// The first driver whose NVML has every symbol below.
constexpr const char* kOldestDriver = "510";

template <typename Function>
bool Find(void* handle, const char* symbol, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(handle, symbol));
  return function != nullptr;
}

}  // namespace

absl::StatusOr<std::unique_ptr<NvmlLibrary>> NvmlLibrary::Open(
    const std::string& name) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* words = dlerror();
    return absl::NotFoundError(absl::StrCat(
        "no NVIDIA driver: ", words != nullptr ? words : name.c_str(),
        "; install the driver, or plan on the cpu device"));
  }
  std::unique_ptr<NvmlLibrary> library(new NvmlLibrary(handle));
  if (absl::Status found = library->FindFunctions(); !found.ok()) return found;
  const NvmlReturn result = library->functions_.Init();
  library->initialised_ = result == NvmlReturn::kSuccess;
  if (result == NvmlReturn::kDriverNotLoaded) {
    return absl::NotFoundError(absl::StrCat(
        "no NVIDIA driver: ", library->functions_.ErrorString(result),
        "; load it, or plan on the cpu device"));
  }
  if (absl::Status initialised = library->Check(result, "nvmlInit_v2");
      !initialised.ok()) {
    return initialised;
  }
  return library;
}

NvmlLibrary::~NvmlLibrary() {
  if (initialised_) (void)functions_.Shutdown();
  (void)dlclose(handle_);
}

absl::Status NvmlLibrary::Check(NvmlReturn result, const char* call) const {
  if (result == NvmlReturn::kSuccess) return absl::OkStatus();
  const char* words = functions_.ErrorString(result);
  return absl::UnavailableError(
      absl::StrCat(call, ": ", words != nullptr ? words : "error",
                   " (NVML return ", static_cast<int>(result), ")"));
}

absl::Status NvmlLibrary::FindFunctions() {
  const char* symbol = nullptr;
  NvmlFunctions& f = functions_;
  const bool found =
      Find(handle_, symbol = "nvmlInit_v2", f.Init) &&
      Find(handle_, symbol = "nvmlShutdown", f.Shutdown) &&
      Find(handle_, symbol = "nvmlErrorString", f.ErrorString) &&
      Find(handle_, symbol = "nvmlSystemGetDriverVersion",
           f.SystemGetDriverVersion) &&
      Find(handle_, symbol = "nvmlDeviceGetCount_v2", f.DeviceGetCount) &&
      Find(handle_, symbol = "nvmlDeviceGetHandleByIndex_v2",
           f.DeviceGetHandleByIndex) &&
      Find(handle_, symbol = "nvmlDeviceGetUUID", f.DeviceGetUUID) &&
      Find(handle_, symbol = "nvmlDeviceGetName", f.DeviceGetName) &&
      Find(handle_, symbol = "nvmlDeviceGetPciInfo_v3", f.DeviceGetPciInfo) &&
      Find(handle_, symbol = "nvmlDeviceGetMemoryInfo_v2",
           f.DeviceGetMemoryInfo) &&
      Find(handle_, symbol = "nvmlDeviceGetComputeRunningProcesses_v3",
           f.DeviceGetComputeRunningProcesses) &&
      Find(handle_, symbol = "nvmlDeviceGetGraphicsRunningProcesses_v3",
           f.DeviceGetGraphicsRunningProcesses);
  (void)Find(handle_, "nvmlDeviceGetMinorNumber", f.DeviceGetMinorNumber);
  (void)Find(handle_, "nvmlDeviceGetMigMode", f.DeviceGetMigMode);
  (void)Find(handle_, "nvmlDeviceGetMaxMigDeviceCount",
             f.DeviceGetMaxMigDeviceCount);
  (void)Find(handle_, "nvmlDeviceGetMigDeviceHandleByIndex",
             f.DeviceGetMigDeviceHandleByIndex);
  if (found) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("the driver's NVML has no ",
                                             symbol, "; driver ", kOldestDriver,
                                             " or newer is needed"));
}

}  // namespace memplan::gpu
