// The part of NVML's binary interface that memplan calls, found in the driver's
// library at run time. NVML promises that a versioned symbol and its structs
// never change; layouts and numbers are those of nvml.h of CUDA 13 (the wheel
// nvidia-nvml-dev), and a test compares them where that header is installed.
#ifndef MEMPLAN_CUDA_NVML_NVML_LIBRARY_H_
#define MEMPLAN_CUDA_NVML_NVML_LIBRARY_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace memplan::gpu {

// nvmlReturn_t, as far as memplan tells the values apart.
enum class NvmlReturn : int {
  kSuccess = 0,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
};

// nvmlDevice_t.
using NvmlDevice = struct NvmlDeviceStruct*;

// nvmlMemory_v2_t.
struct NvmlMemory {
  unsigned int version;
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
};
// nvmlMemory_v2: the struct's size with its version in the highest byte.
inline constexpr unsigned int kNvmlMemoryVersion =
    sizeof(NvmlMemory) | (2U << 24);

// nvmlProcessInfo_v2_t, which the _v3 process calls fill.
struct NvmlProcess {
  unsigned int pid;
  unsigned long long used_gpu_memory;
  unsigned int gpu_instance_id;
  unsigned int compute_instance_id;
};
// NVML_VALUE_NOT_AVAILABLE in an unsigned member.
inline constexpr unsigned long long kNvmlNotAvailable = ~0ULL;

// nvmlPciInfo_t.
struct NvmlPci {
  char bus_id_legacy[16];
  unsigned int domain;
  unsigned int bus;
  unsigned int device;
  unsigned int pci_device_id;
  unsigned int pci_subsystem_id;
  char bus_id[32];
};

// The longest text NVML writes (NVML_DEVICE_UUID_V2_BUFFER_SIZE and
// NVML_DEVICE_NAME_V2_BUFFER_SIZE; the driver's version needs 80).
inline constexpr unsigned int kNvmlTextBytes = 96;

// The functions, each under the name nvml.h gives it without `nvml`. Owned by
// NvmlLibrary; callable while that lives.
struct NvmlFunctions {
  NvmlReturn (*Init)() = nullptr;
  NvmlReturn (*Shutdown)() = nullptr;
  const char* (*ErrorString)(NvmlReturn) = nullptr;
  NvmlReturn (*SystemGetDriverVersion)(char*, unsigned int) = nullptr;
  NvmlReturn (*DeviceGetCount)(unsigned int*) = nullptr;
  NvmlReturn (*DeviceGetHandleByIndex)(unsigned int, NvmlDevice*) = nullptr;
  NvmlReturn (*DeviceGetUUID)(NvmlDevice, char*, unsigned int) = nullptr;
  NvmlReturn (*DeviceGetName)(NvmlDevice, char*, unsigned int) = nullptr;
  NvmlReturn (*DeviceGetPciInfo)(NvmlDevice, NvmlPci*) = nullptr;
  NvmlReturn (*DeviceGetMemoryInfo)(NvmlDevice, NvmlMemory*) = nullptr;
  NvmlReturn (*DeviceGetComputeRunningProcesses)(NvmlDevice, unsigned int*,
                                                 NvmlProcess*) = nullptr;
  NvmlReturn (*DeviceGetGraphicsRunningProcesses)(NvmlDevice, unsigned int*,
                                                  NvmlProcess*) = nullptr;
  // These may be missing; null then.
  NvmlReturn (*DeviceGetMinorNumber)(NvmlDevice, unsigned int*) = nullptr;
  NvmlReturn (*DeviceGetMigMode)(NvmlDevice, unsigned int*,
                                 unsigned int*) = nullptr;
  NvmlReturn (*DeviceGetMaxMigDeviceCount)(NvmlDevice, unsigned int*) = nullptr;
  NvmlReturn (*DeviceGetMigDeviceHandleByIndex)(NvmlDevice, unsigned int,
                                                NvmlDevice*) = nullptr;
};

// An open, initialised NVML. Thread-safe, as its functions are. The destructor
// shuts NVML down, which counts its users, and closes the library.
class NvmlLibrary {
 public:
  // Returns kNotFound if there is no library called `name` (see dlopen) or no
  // driver behind it, kUnavailable if the library is too old or will not
  // initialise.
  static absl::StatusOr<std::unique_ptr<NvmlLibrary>> Open(
      const std::string& name);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  const NvmlFunctions& functions() const { return functions_; }

  // OK for kSuccess, else kUnavailable: `call`, then the driver's words.
  absl::Status Check(NvmlReturn result, const char* call) const;

 private:
  explicit NvmlLibrary(void* handle) : handle_(handle) {}
  absl::Status FindFunctions();

  void* handle_;
  bool initialised_ = false;
  NvmlFunctions functions_;
};

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_NVML_NVML_LIBRARY_H_
