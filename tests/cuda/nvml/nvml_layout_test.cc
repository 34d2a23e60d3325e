// Our copy of NVML's binary interface against NVIDIA's header.
#include <gtest/gtest.h>
#include <nvml.h>

#include <cstddef>

#include "cuda/nvml/nvml_library.h"

namespace memplan::gpu {
namespace {

static_assert(sizeof(NvmlMemory) == sizeof(nvmlMemory_v2_t));
static_assert(offsetof(NvmlMemory, total) == offsetof(nvmlMemory_v2_t, total));
static_assert(offsetof(NvmlMemory, reserved) ==
              offsetof(nvmlMemory_v2_t, reserved));
static_assert(offsetof(NvmlMemory, free) == offsetof(nvmlMemory_v2_t, free));
static_assert(offsetof(NvmlMemory, used) == offsetof(nvmlMemory_v2_t, used));

static_assert(sizeof(NvmlProcess) == sizeof(nvmlProcessInfo_t));
static_assert(offsetof(NvmlProcess, pid) == offsetof(nvmlProcessInfo_t, pid));
static_assert(offsetof(NvmlProcess, used_gpu_memory) ==
              offsetof(nvmlProcessInfo_t, usedGpuMemory));
static_assert(offsetof(NvmlProcess, gpu_instance_id) ==
              offsetof(nvmlProcessInfo_t, gpuInstanceId));

static_assert(sizeof(NvmlPci) == sizeof(nvmlPciInfo_t));
static_assert(offsetof(NvmlPci, domain) == offsetof(nvmlPciInfo_t, domain));
static_assert(offsetof(NvmlPci, bus_id) == offsetof(nvmlPciInfo_t, busId));

TEST(NvmlLayoutTest, NumbersAreThoseOfTheHeader) {
  EXPECT_EQ(kNvmlMemoryVersion, static_cast<unsigned int>(nvmlMemory_v2));
  EXPECT_EQ(kNvmlNotAvailable,
            static_cast<unsigned long long>(NVML_VALUE_NOT_AVAILABLE));
  EXPECT_EQ(static_cast<int>(NvmlReturn::kInsufficientSize),
            NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(static_cast<int>(NvmlReturn::kDriverNotLoaded),
            NVML_ERROR_DRIVER_NOT_LOADED);
  EXPECT_EQ(kNvmlTextBytes, NVML_DEVICE_UUID_V2_BUFFER_SIZE);
  EXPECT_EQ(kNvmlTextBytes, NVML_DEVICE_NAME_V2_BUFFER_SIZE);
}

}  // namespace
}  // namespace memplan::gpu
