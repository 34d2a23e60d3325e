// Texts and evidence of public reports, and what they are: the numbers are those
// of /work/shared/cases.md's first table.
#include "cuda/worker/trial/end_class.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <ostream>
#include <string>

#include "cuda/worker/trial/ending.h"

namespace memplan::gpu {
namespace {

struct ClassCase {
  std::string name;
  std::string what;
  Evidence evidence;
  EndClass end_class;
  EndKind end;
};

void PrintTo(const ClassCase& test, std::ostream* out) { *out << test.name; }

// A request of 50 MiB that failed for good.
Span Refused(Bytes allocated, Bytes reserved) {
  Span span;
  span.failed_requests = 1;
  span.unmet = FailedRequest{
      .asked = MiB(50), .allocated = allocated, .reserved = reserved};
  return span;
}

// Requests that failed and were made up for.
Span MadeUpFor() {
  Span span;
  span.failed_requests = 3;
  span.allocation_retries = 3;
  return span;
}

constexpr char kInTorchScript[] =
    "The following operation failed in the TorchScript interpreter.\n"
    "Traceback of TorchScript, serialized code (most recent call last):\n"
    "  File \"code/__torch__.py\", line 8, in forward\n"
    "RuntimeError: ";

class EndClassTest : public ::testing::TestWithParam<ClassCase> {};

TEST_P(EndClassTest, IsToldByEvidence) {
  const Failure failure = FailureOf(GetParam().what, GetParam().evidence);
  EXPECT_EQ(EndClassName(failure.end_class),
            EndClassName(GetParam().end_class));
  EXPECT_EQ(failure.end, GetParam().end);
}

INSTANTIATE_TEST_SUITE_P(
    Memory, EndClassTest,
    ::testing::ValuesIn<ClassCase>({
        {"Case14DriverWithoutAFullStop",
         "CUDA error: out of memory",
         {},
         EndClass::kDriverMemory,
         EndKind::kOutOfMemory},
        {"Case31ThroughTorchScript",
         std::string(kInTorchScript) +
             "CUDA out of memory. Tried to allocate 50.00 MiB. GPU 0 has a "
             "total capacity of 139.80 GiB of which 123.80 GiB is free. If "
             "reserved but unallocated memory is large try setting "
             "PYTORCH_ALLOC_CONF=expandable_segments:True",
         {.span = Refused(GiB(16), GiB(16))},
         EndClass::kMemory,
         EndKind::kOutOfMemory},
        {"Case32HiddenByThePackage",
         "op failed",
         {.span = Refused(GiB(16), GiB(16))},
         EndClass::kMemory,
         EndKind::kOutOfMemory},
        {"Case32OnlyFreeMemoryTells",
         "op failed",
         {.device_free = MiB(12)},
         EndClass::kDriverMemory,
         EndKind::kOutOfMemory},
        {"Case32WithMemoryFreeItIsTheModel",
         "op failed",
         {.device_free = GiB(100)},
         EndClass::kOther,
         EndKind::kModelFailed},
        {"Case34CusolverUnderPressure",
         "cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR, when calling "
         "`cusolverDnDgetrf( handle, m, n, dA, ldda, …)`",
         {.span = MadeUpFor(), .device_free = GiB(20)},
         EndClass::kLibraryUnderPressure,
         EndKind::kOutOfMemory},
        {"Case34CusolverWithoutPressure",
         "cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR, when calling "
         "`cusolverDnDgetrf( handle, m, n, dA, ldda, …)`",
         {.device_free = GiB(100)},
         EndClass::kOther,
         EndKind::kModelFailed},
        {"Case36NoRoomToLoadCudnn",
         "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR",
         {.device_free = MiB(300)},
         EndClass::kLibraryLoading,
         EndKind::kOutOfMemory},
        {"Case36NoRoomForCublas",
         "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling "
         "`cublasSgemm( handle, …)`",
         {.device_free = MiB(300)},
         EndClass::kLibraryLoading,
         EndKind::kOutOfMemory},
        {"CublasHandle",
         "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling "
         "`cublasCreate(handle)`",
         {},
         EndClass::kLibraryLoading,
         EndKind::kOutOfMemory},
        {"CudnnRefusedItsScratch",
         "FIND was unable to find an engine to execute this computation",
         {.span = Refused(GiB(16), GiB(16)), .device_free = GiB(100)},
         EndClass::kLibraryUnderPressure,
         EndKind::kOutOfMemory},
        {"Case48InPieces",
         "CUDA out of memory. Tried to allocate 50.00 MiB.",
         {.out_of_memory_type = true, .span = Refused(GiB(3), GiB(16))},
         EndClass::kFragmentation,
         EndKind::kOutOfMemory},
        {"JustEnoughInOnePieceMayBeInPieces",
         "CUDA out of memory. Tried to allocate 50.00 MiB.",
         {.span = Refused(MiB(100), MiB(150))},
         EndClass::kMemory,
         EndKind::kOutOfMemory},
        {"Case52AsyncBackend",
         "Allocation on device 0 would exceed allowed memory. (out of memory)\n"
         "Currently allocated     : 12.00 GiB\nRequested               : 2.00 "
         "GiB\nDevice limit            : 139.80 GiB\nFree (according to CUDA): "
         "12.50 MiB",
         {.out_of_memory_type = true},
         EndClass::kMemory,
         EndKind::kOutOfMemory},
        {"OnTheCpuDevice",
         "CPU out of memory: tried to allocate 4.00 GiB beside 80 B",
         {.span = Refused(Bytes(512), Bytes(512))},
         EndClass::kMemory,
         EndKind::kOutOfMemory},
    }),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Others, EndClassTest,
    ::testing::ValuesIn<ClassCase>({
        {"Case24MoreElementsThanAnInt",
         "Expected canUse32BitIndexMath(input) && canUse32BitIndexMath(output) "
         "to be true, but got false.",
         {},
         EndClass::kIndexLimit,
         EndKind::kModelFailed},
        {"Case24Nonzero",
         "nonzero is not supported for tensors with more than INT_MAX "
         "elements, See https://github.com/pytorch/pytorch/issues/51871",
         {},
         EndClass::kIndexLimit,
         EndKind::kModelFailed},
        {"Case25TooManyBlocks",
         "CUDA error: invalid configuration argument\nCUDA kernel errors might "
         "be asynchronously reported",
         {},
         EndClass::kLaunchLimit,
         EndKind::kModelFailed},
        {"Case27BatchedProduct",
         "CUDA error: too many resources requested for launch",
         {.span = MadeUpFor()},
         EndClass::kLaunchLimit,
         EndKind::kModelFailed},
        {"Case53SettingsThatContradict",
         "!handles_.at(i) INTERNAL ASSERT FAILED at "
         "\"../c10/cuda/CUDACachingAllocator.cpp\":384, please report a bug",
         {.has_allocator_settings = true},
         EndClass::kConfiguration,
         EndKind::kModelFailed},
        {"TheSameWithTorchsOwnSettings",
         "!handles_.at(i) INTERNAL ASSERT FAILED at "
         "\"../c10/cuda/CUDACachingAllocator.cpp\":384, please report a bug",
         {},
         EndClass::kOther,
         EndKind::kModelFailed},
        {"DeviceAssert",
         "CUDA error: device-side assert triggered\nSearch for "
         "`cudaErrorAssert' in https://…",
         {.device_lost = true},
         EndClass::kDeviceAssert,
         EndKind::kModelFailed},
        {"ALostDeviceHidesBehindALibrary",
         "CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling "
         "`cublasSgemm`",
         {.span = MadeUpFor(), .device_lost = true},
         EndClass::kDeviceAssert,
         EndKind::kModelFailed},
        {"UnsupportedType",
         "\"addmm_impl_cpu_\" not implemented for 'Half'",
         {},
         EndClass::kUnsupported,
         EndKind::kModelFailed},
        {"UnsupportedOperator",
         "Could not run 'aten::_fused' with arguments from the 'CUDA' backend.",
         {},
         EndClass::kUnsupported,
         EndKind::kModelFailed},
        {"Case10HostMemory",
         "[enforce fail at alloc_cpu.cpp:119] . DefaultCPUAllocator: can't "
         "allocate memory: you tried to allocate 4294967296 bytes. Error code "
         "12 (Cannot allocate memory)",
         {.device_free = GiB(100)},
         EndClass::kHostMemory,
         EndKind::kModelFailed},
        {"HostMemoryByType",
         "the host's memory ran out",
         {.host_memory_type = true},
         EndClass::kHostMemory,
         EndKind::kModelFailed},
        {"FixedShape",
         std::string(kInTorchScript) +
             "shape '[2, 16]' is invalid for input of size 48",
         {.span = Refused(GiB(1), GiB(1))},
         EndClass::kFixedShape,
         EndKind::kShapeRefused},
        {"RequestsMadeUpForDoNotCount",
         "index out of range in self",
         {.span = MadeUpFor()},
         EndClass::kOther,
         EndKind::kModelFailed},
    }),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace memplan::gpu
