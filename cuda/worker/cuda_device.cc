#include "cuda/worker/cuda_device.h"

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cuda/spill_check.h"
#include "cuda/worker/trial/memory_fraction.h"
#include "cuda/worker/trial/memory_speed.h"
#include "planner/base/status_macros.h"

// Of libtorch_cuda; its header wants those of cuBLAS.
namespace at::cuda {
void clearCublasWorkspaces();
}

namespace memplan::gpu {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;
using allocator::TraceEntry;

constexpr c10::DeviceIndex kDevice = 0;

std::optional<TraceEvent> EventOf(TraceEntry::Action action) {
  switch (action) {
    case TraceEntry::ALLOC:
      return TraceEvent::kAlloc;
    case TraceEntry::FREE_REQUESTED:
      return TraceEvent::kFreeRequested;
    case TraceEntry::FREE_COMPLETED:
      return TraceEvent::kFree;
    case TraceEntry::SEGMENT_ALLOC:
      return TraceEvent::kSegmentAlloc;
    case TraceEntry::SEGMENT_FREE:
      return TraceEvent::kSegmentFree;
    case TraceEntry::SEGMENT_MAP:
      return TraceEvent::kSegmentMap;
    case TraceEntry::SEGMENT_UNMAP:
      return TraceEvent::kSegmentUnmap;
    case TraceEntry::OOM:
      return TraceEvent::kFailedRequest;
    default:
      return std::nullopt;
  }
}

// Called with the allocator's lock held.
void RecordEntry(const TraceEntry& entry, Recorder& recorder) {
  const std::optional<TraceEvent> event = EventOf(entry.action_);
  if (!event.has_value()) return;
  // For a failed request torch has the device's free bytes in the address.
  const uint64_t address =
      *event == TraceEvent::kFailedRequest ? 0 : entry.addr_;
  recorder.RecordMemory(*event, Bytes(static_cast<int64_t>(entry.size_)),
                        address, reinterpret_cast<uint64_t>(entry.stream_));
}

// Of all pools together.
const c10::CachingAllocator::Stat& WholeOf(
    const c10::CachingAllocator::StatArray& counter) {
  return counter[static_cast<size_t>(
      c10::CachingAllocator::StatType::AGGREGATE)];
}

Bytes PeakOf(const c10::CachingAllocator::StatArray& counter) {
  return Bytes(WholeOf(counter).peak);
}

// What became of the last request. Told by the allocator, from any thread.
class LastRequest {
 public:
  void Succeed() { is_unmet_ = false; }

  void Fail(Bytes asked) {
    const auto stats = allocator::getDeviceStats(kDevice);
    const std::lock_guard lock(mutex_);
    failed_ = {.asked = asked,
               .allocated = Bytes(WholeOf(stats.allocated_bytes).current),
               .reserved = Bytes(WholeOf(stats.reserved_bytes).current)};
    is_unmet_ = true;
  }

  std::optional<FailedRequest> unmet() const {
    if (!is_unmet_) return std::nullopt;
    const std::lock_guard lock(mutex_);
    return failed_;
  }

 private:
  // Apart from the mutex, since Succeed is called with the allocator's lock held.
  std::atomic<bool> is_unmet_ = false;
  mutable std::mutex mutex_;
  FailedRequest failed_;  // guarded by mutex_
};

// Runs `function`, which may throw; kUnavailable with CUDA's words if it does.
template <typename Function>
absl::Status InCudasWords(const char* what, Function&& function) {
  try {
    function();
    return absl::OkStatus();
  } catch (const c10::Error& error) {
    return absl::UnavailableError(
        absl::StrCat(what, ": ", error.what_without_backtrace()));
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat(what, ": ", error.what()));
  }
}

Bytes DeviceTotal() {
  size_t free = 0;
  size_t total = 0;
  C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return Bytes(static_cast<int64_t>(total));
}

// 91002 is 9.10.2, 8902 is 8.9.2.
std::string CudnnVersion() {
  const auto& hooks = at::detail::getCUDAHooks();
  if (!hooks.hasCuDNN()) return "";
  const int64_t version = hooks.versionCuDNN();
  const int64_t major = version < 10000 ? 1000 : 10000;
  return absl::StrCat(version / major, ".", version % major / 100, ".",
                      version % 100);
}

// Blocks until all of it has been read.
absl::StatusOr<std::vector<double>> ReadSpeedsOf(
    const std::vector<Stretch>& stretches) {
  std::vector<MemoryRange> ranges;
  ranges.reserve(stretches.size());
  for (const Stretch& stretch : stretches) {
    ranges.push_back({reinterpret_cast<const void*>(stretch.address),
                      static_cast<size_t>(stretch.bytes.count())});
  }
  std::vector<double> speeds(ranges.size());
  const char* fault =
      MeasureReadSpeeds(ranges.data(), ranges.size(), speeds.data());
  if (fault != nullptr) return absl::UnavailableError(fault);
  return speeds;
}

class CudaDevice : public Device {
 public:
  // `requests` lives as long as the process.
  explicit CudaDevice(const LastRequest& requests) : requests_(requests) {
    BeginSpan();
  }

  std::optional<Bytes> cap() const override { return cap_; }

  absl::Status SetCap(std::optional<Bytes> cap) override {
    return InCudasWords("setting the allocator's cap", [&] {
      const Bytes total = DeviceTotal();
      const bool is_none = !cap.has_value() || *cap >= total;
      // An allocator that never had a cap is left as it is.
      if (is_none && !cap_.has_value()) return;
      const double fraction = is_none ? 1 : FractionForCap(*cap, total);
      allocator::setMemoryFraction(fraction, kDevice);
      cap_.reset();
      if (!is_none) cap_ = CapOfFraction(fraction, total);
    });
  }

  absl::StatusOr<Bytes> Renew() override {
    MEMPLAN_RETURN_IF_ERROR(InCudasWords("giving memory back", [] {
      C10_CUDA_CHECK(cudaDeviceSynchronize());
      at::cuda::clearCublasWorkspaces();
      allocator::emptyCache();
    }));
    return Bytes(
        WholeOf(allocator::getDeviceStats(kDevice).reserved_bytes).current);
  }

  absl::Status ReleaseCache() override {
    return InCudasWords("giving memory back", [] { allocator::emptyCache(); });
  }

  Prepared Identity() const override {
    Prepared identity;
    cudaDeviceProp properties = {};
    if (cudaGetDeviceProperties(&properties, kDevice) == cudaSuccess) {
      identity.device_name = properties.name;
    }
    int version = 0;
    if (cudaDriverGetVersion(&version) == cudaSuccess) {
      identity.driver_version =
          absl::StrCat("CUDA ", version / 1000, ".", version % 1000 / 10);
    }
    identity.cudnn_version = CudnnVersion();
    return identity;
  }

  void BeginSpan() override {
    allocator::resetPeakStats(kDevice);
    const auto stats = allocator::getDeviceStats(kDevice);
    retries_before_ = stats.num_alloc_retries;
    failed_before_ = stats.num_ooms;
  }

  Span ReadSpan() override {
    const auto stats = allocator::getDeviceStats(kDevice);
    const int64_t failed = stats.num_ooms - failed_before_;
    return {.peaks = {.requested = PeakOf(stats.requested_bytes),
                      .allocated = PeakOf(stats.allocated_bytes),
                      .active = PeakOf(stats.active_bytes),
                      .reserved = PeakOf(stats.reserved_bytes)},
            .allocation_retries = stats.num_alloc_retries - retries_before_,
            .failed_requests = failed,
            .unmet = failed > 0 ? requests_.unmet() : std::nullopt};
  }

  absl::StatusOr<Settled> State() override {
    size_t free = 0;
    size_t total = 0;
    const cudaError_t error = cudaMemGetInfo(&free, &total);
    if (error != cudaSuccess) {
      return absl::UnavailableError(absl::StrCat(
          "reading the device's memory: ", cudaGetErrorString(error)));
    }
    const auto stats = allocator::getDeviceStats(kDevice);
    Settled settled;
    settled.reserved = Bytes(WholeOf(stats.reserved_bytes).current);
    settled.device_free = Bytes(static_cast<int64_t>(free));
    settled.device_total = Bytes(static_cast<int64_t>(total));
    return settled;
  }

  std::optional<MemorySpeed> ReadSpeed() override {
    std::vector<Stretch> segments;
    const absl::Status status = InCudasWords("reading the segments", [&] {
      for (const auto& segment : allocator::snapshot().segments) {
        if (segment.device != kDevice) continue;
        segments.push_back({static_cast<uint64_t>(segment.address),
                            Bytes(static_cast<int64_t>(segment.total_size))});
      }
    });
    if (!status.ok()) {
      return MemorySpeed{
          .slowest = 0,
          .peak = 0,
          .absence = TrimmedMessage(std::string(status.message()))};
    }
    MemorySpeed speed = SlowestRead(segments, PeakMemorySpeed(), ReadSpeedsOf);
    // What failed there is told; no check of torch's is to stumble over it.
    (void)cudaGetLastError();
    return speed;
  }

 private:
  const LastRequest& requests_;
  std::optional<Bytes> cap_;
  int64_t retries_before_ = 0;
  int64_t failed_before_ = 0;
};

absl::Status CheckEnvironment() {
  if (c10::cuda::device_count() == 0) {
    return absl::FailedPreconditionError(
        "CUDA shows the worker no device; see that the driver works "
        "(nvidia-smi) and that the device is not hidden by "
        "CUDA_VISIBLE_DEVICES");
  }
  if (std::getenv("PYTORCH_NO_CUDA_MEMORY_CACHING") != nullptr) {
    return absl::FailedPreconditionError(
        "PYTORCH_NO_CUDA_MEMORY_CACHING turns off the allocator that is to be "
        "measured; start the daemon without it");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> StartCudaDevice(
    std::optional<Bytes> cap, Recorder& recorder) {
  // Without it each library's kernels are all loaded at start: 1.3 GiB more.
  constexpr int kKeep = 0;
  setenv("CUDA_MODULE_LOADING", "LAZY", kKeep);
  try {
    if (absl::Status status = CheckEnvironment(); !status.ok()) return status;
    // The device's allocator is made here; a tracker attached earlier is lost.
    at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
    if (allocator::name() != "native") {
      return absl::FailedPreconditionError(absl::StrCat(
          "PYTORCH_ALLOC_CONF chooses the allocator `", allocator::name(),
          "`; only torch's own can be measured"));
    }
    // Never destroyed, as the allocator is not.
    static auto& requests = *new LastRequest;
    allocator::attachAllocatorTraceTracker(
        [&recorder](const TraceEntry& entry) {
          if (entry.device_ != kDevice) return;
          if (entry.action_ == TraceEntry::ALLOC) requests.Succeed();
          RecordEntry(entry, recorder);
        });
    // Called without the allocator's lock, just before it throws.
    allocator::attachOutOfMemoryObserver(
        [](int64_t device, size_t asked, size_t, size_t) {
          if (device == kDevice) {
            requests.Fail(Bytes(static_cast<int64_t>(asked)));
          }
        });
    auto device = std::make_unique<CudaDevice>(requests);
    MEMPLAN_RETURN_IF_ERROR(device->SetCap(cap));
    return device;
  } catch (const std::exception& error) {
    return absl::FailedPreconditionError(
        absl::StrCat("CUDA does not start: ", error.what()));
  }
}

}  // namespace memplan::gpu
