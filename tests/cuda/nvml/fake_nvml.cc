// A library with NVML's symbols and no GPU. FAKE_NVML_SITUATION, read at each
// call, says what it plays:
//
//   (unset)                two GPUs; pid 4242 computes and draws on the first
//   mig                    the second is in MIG mode and has one instance
//   second_gpu_lost        the second answers GPU_IS_LOST to everything
//   absurd_total           the first GPU is said to have 16 TiB
//   absurd_process         so is a process to hold
//   no_process_memory      the driver does not say what a process holds
//   many_processes         forty processes, more than a first guess has room
//                          for
//   second_gpu_hangs       what the second holds is not told until the pipe
//                          FAKE_NVML_GATE has been opened and closed
//   count_fails            the GPUs cannot be counted
//   driver_not_loaded      nvmlInit says so
//   init_fails             nvmlInit fails for another reason
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "cuda/nvml/nvml_library.h"

namespace memplan::gpu {

struct NvmlDeviceStruct {
  unsigned int index;
};

namespace {

constexpr auto kGpuIsLost = static_cast<NvmlReturn>(15);
constexpr auto kUnknown = static_cast<NvmlReturn>(999);
constexpr auto kVersionMismatch = static_cast<NvmlReturn>(25);
constexpr unsigned long long kMiB = 1ULL << 20;
constexpr unsigned long long kAbsurdBytes = 1ULL << 44;

constexpr unsigned int kInstance = 2;

NvmlDeviceStruct devices[3] = {{0}, {1}, {kInstance}};

bool Plays(std::string_view situation) {
  const char* value = std::getenv("FAKE_NVML_SITUATION");
  return value != nullptr && situation == value;
}

bool IsLost(NvmlDevice device) {
  return device->index == 1 && Plays("second_gpu_lost");
}

void WaitAtTheGate() {
  const int gate = open(std::getenv("FAKE_NVML_GATE"), O_RDONLY);
  char byte = 0;
  while (read(gate, &byte, 1) > 0) {
  }
  close(gate);
}

NvmlReturn Copy(std::string_view text, char* to, unsigned int length) {
  if (text.size() + 1 > length) return NvmlReturn::kInsufficientSize;
  std::memcpy(to, text.data(), text.size());
  to[text.size()] = '\0';
  return NvmlReturn::kSuccess;
}

NvmlReturn List(const NvmlProcess* processes, unsigned int has,
                unsigned int* count, NvmlProcess* to) {
  const unsigned int room = *count;
  *count = has;
  if (has > room) return NvmlReturn::kInsufficientSize;
  for (unsigned int i = 0; i < has; ++i) to[i] = processes[i];
  return NvmlReturn::kSuccess;
}

}  // namespace

extern "C" {

NvmlReturn nvmlInit_v2() {
  if (Plays("driver_not_loaded")) return NvmlReturn::kDriverNotLoaded;
  return Plays("init_fails") ? kUnknown : NvmlReturn::kSuccess;
}

NvmlReturn nvmlShutdown() { return NvmlReturn::kSuccess; }

const char* nvmlErrorString(NvmlReturn result) {
  if (result == kGpuIsLost) return "GPU is lost";
  if (result == NvmlReturn::kDriverNotLoaded) return "Driver Not Loaded";
  return "Unknown Error";
}

NvmlReturn nvmlSystemGetDriverVersion(char* to, unsigned int length) {
  return Copy("580.95.05", to, length);
}

NvmlReturn nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = 2;
  return Plays("count_fails") ? kUnknown : NvmlReturn::kSuccess;
}

NvmlReturn nvmlDeviceGetHandleByIndex_v2(unsigned int index,
                                         NvmlDevice* device) {
  *device = &devices[index];
  return IsLost(*device) ? kGpuIsLost : NvmlReturn::kSuccess;
}

NvmlReturn nvmlDeviceGetUUID(NvmlDevice device, char* to, unsigned int length) {
  if (device->index == kInstance) return Copy("MIG-cccc", to, length);
  return Copy(device->index == 0 ? "GPU-aaaa" : "GPU-bbbb", to, length);
}

NvmlReturn nvmlDeviceGetName(NvmlDevice, char* to, unsigned int length) {
  return Copy("NVIDIA H200", to, length);
}

NvmlReturn nvmlDeviceGetPciInfo_v3(NvmlDevice device, NvmlPci* pci) {
  return Copy(device->index == 0 ? "00000000:17:00.0" : "00000000:9A:00.0",
              pci->bus_id, sizeof(pci->bus_id));
}

NvmlReturn nvmlDeviceGetMinorNumber(NvmlDevice device, unsigned int* minor) {
  *minor = 1 - device->index;  // the other way round
  return NvmlReturn::kSuccess;
}

NvmlReturn nvmlDeviceGetMigMode(NvmlDevice device, unsigned int* current,
                                unsigned int* pending) {
  *current = device->index == 1 && Plays("mig") ? 1 : 0;
  *pending = *current;
  return NvmlReturn::kSuccess;
}

NvmlReturn nvmlDeviceGetMaxMigDeviceCount(NvmlDevice, unsigned int* count) {
  *count = 7;
  return NvmlReturn::kSuccess;
}

// The third of seven places is taken.
NvmlReturn nvmlDeviceGetMigDeviceHandleByIndex(NvmlDevice, unsigned int place,
                                               NvmlDevice* instance) {
  *instance = &devices[kInstance];
  return place == 2 ? NvmlReturn::kSuccess : kUnknown;
}

NvmlReturn nvmlDeviceGetMemoryInfo_v2(NvmlDevice device, NvmlMemory* memory) {
  if (memory->version != kNvmlMemoryVersion) return kVersionMismatch;
  if (device->index == 1 && Plays("second_gpu_hangs")) WaitAtTheGate();
  memory->total = (device->index == kInstance ? 400 : 1000) * kMiB;
  if (device->index == 0 && Plays("absurd_total")) memory->total = kAbsurdBytes;
  memory->reserved = 100 * kMiB;
  memory->used = device->index == 0 ? 300 * kMiB : 0;
  memory->free = memory->total - memory->reserved - memory->used;
  return NvmlReturn::kSuccess;
}

NvmlReturn nvmlDeviceGetComputeRunningProcesses_v3(NvmlDevice device,
                                                   unsigned int* count,
                                                   NvmlProcess* to) {
  if (device->index >= 1) return List(nullptr, 0, count, to);
  if (Plays("many_processes")) {
    NvmlProcess many[40] = {};
    for (unsigned int i = 0; i < 40; ++i) {
      many[i].pid = 100 + i;
      many[i].used_gpu_memory = kMiB;
    }
    return List(many, 40, count, to);
  }
  NvmlProcess two[2] = {};
  two[0].pid = 77;
  two[0].used_gpu_memory = 90 * kMiB;
  two[1].pid = 4242;
  two[1].used_gpu_memory = Plays("no_process_memory") ? kNvmlNotAvailable
                           : Plays("absurd_process")  ? kAbsurdBytes
                                                      : 200 * kMiB;
  return List(two, 2, count, to);
}

NvmlReturn nvmlDeviceGetGraphicsRunningProcesses_v3(NvmlDevice device,
                                                    unsigned int* count,
                                                    NvmlProcess* to) {
  if (device->index >= 1 || Plays("many_processes")) {
    return List(nullptr, 0, count, to);
  }
  NvmlProcess one = {};
  one.pid = 4242;
  one.used_gpu_memory = Plays("no_process_memory") ? kNvmlNotAvailable
                        : Plays("absurd_process")  ? kAbsurdBytes
                                                   : 200 * kMiB;
  return List(&one, 1, count, to);
}

}  // extern "C"

}  // namespace memplan::gpu
