#include "cuda/worker/cpu_device.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cuda/worker/trial/live_bytes.h"
#include "planner/base/format.h"

namespace memplan::gpu {
namespace {

// What vector instructions and c10's own allocator want (c10::gAlignment).
constexpr size_t kAlignment = 64;

// Lies before each block, since a block is freed by its address alone.
struct alignas(kAlignment) BlockHeader {
  Bytes requested;
};
static_assert(sizeof(BlockHeader) == kAlignment);

// Called by torch from any thread.
class RecordingAllocator : public c10::Allocator {
 public:
  RecordingAllocator(std::optional<Bytes> cap, Recorder& recorder)
      : live_(cap), recorder_(recorder) {}

  c10::DataPtr allocate(size_t size) override;
  // The context of every block is its address: oneDNN and others free by the
  // raw interface, which needs that.
  c10::DeleterFnPtr raw_deleter() const override { return &Delete; }
  void copy_data(void* to, const void* from, size_t size) const override {
    default_copy_data(to, from, size);
  }

  template <typename Function>
  auto WithLiveBytes(Function&& function) {
    const std::lock_guard lock(mutex_);
    return function(live_);
  }

 private:
  static void Delete(void* block);

  // Counts and records in one go, so that the trace has the order of the counts.
  bool Take(Bytes requested, const void* block);
  void Give(Bytes requested, const void* block);

  std::mutex mutex_;
  LiveBytes live_;  // guarded by mutex_
  Recorder& recorder_;
};

RecordingAllocator* the_allocator = nullptr;

uint64_t AddressOf(const void* block) {
  return reinterpret_cast<uint64_t>(block);
}

[[noreturn]] void ThrowOutOfMemory(Bytes requested, Bytes allocated,
                                   std::optional<Bytes> cap) {
  std::string message =
      absl::StrCat("CPU out of memory: tried to allocate ",
                   FormatBytes(requested), " beside ", FormatBytes(allocated));
  if (cap.has_value()) absl::StrAppend(&message, ", cap ", FormatBytes(*cap));
  TORCH_CHECK_WITH(OutOfMemoryError, false, message);
}

c10::DataPtr RecordingAllocator::allocate(size_t size) {
  const c10::Device cpu(c10::DeviceType::CPU);
  if (size == 0) return {nullptr, nullptr, &Delete, cpu};
  const Bytes requested(static_cast<int64_t>(size));
  void* memory = nullptr;
  if (size > SIZE_MAX / 2 ||
      posix_memalign(&memory, kAlignment, sizeof(BlockHeader) + size) != 0) {
    memory = nullptr;
  }
  std::byte* block = memory == nullptr
                         ? nullptr
                         : reinterpret_cast<std::byte*>(
                               new (memory) BlockHeader{requested} + 1);
  if (!Take(requested, block)) {
    std::free(memory);
    const auto [allocated, cap] = WithLiveBytes([](const LiveBytes& live) {
      return std::pair(live.allocated(), live.cap());
    });
    ThrowOutOfMemory(requested, allocated, cap);
  }
  return {block, block, &Delete, cpu};
}

void RecordingAllocator::Delete(void* block) {
  if (block == nullptr) return;
  BlockHeader* header = reinterpret_cast<BlockHeader*>(block) - 1;
  the_allocator->Give(header->requested, block);
  std::free(header);
}

bool RecordingAllocator::Take(Bytes requested, const void* block) {
  const std::lock_guard lock(mutex_);
  if (block == nullptr) {
    live_.CountFailedRequest(requested);
  } else if (live_.Take(requested)) {
    recorder_.RecordMemory(TraceEvent::kAlloc, requested, AddressOf(block), 0);
    return true;
  }
  recorder_.RecordMemory(TraceEvent::kFailedRequest, RoundedToUnits(requested),
                         0, 0);
  return false;
}

void RecordingAllocator::Give(Bytes requested, const void* block) {
  const std::lock_guard lock(mutex_);
  live_.Give(requested);
  const uint64_t address = AddressOf(block);
  recorder_.RecordMemory(TraceEvent::kFreeRequested, requested, address, 0);
  recorder_.RecordMemory(TraceEvent::kFree, requested, address, 0);
}

class CpuDevice : public Device {
 public:
  explicit CpuDevice(RecordingAllocator& allocator) : allocator_(allocator) {}

  std::optional<Bytes> cap() const override {
    return allocator_.WithLiveBytes(
        [](const LiveBytes& live) { return live.cap(); });
  }

  absl::Status SetCap(std::optional<Bytes> cap) override {
    allocator_.WithLiveBytes([cap](LiveBytes& live) { live.SetCap(cap); });
    return absl::OkStatus();
  }

  // There are no segments to give back.
  absl::StatusOr<Bytes> Renew() override {
    return allocator_.WithLiveBytes(
        [](const LiveBytes& live) { return live.allocated(); });
  }

  absl::Status ReleaseCache() override { return absl::OkStatus(); }

  Prepared Identity() const override { return {}; }

  void BeginSpan() override {
    allocator_.WithLiveBytes([this](LiveBytes& live) {
      live.ResetPeaks();
      failed_before_ = live.failed_requests();
    });
  }

  Span ReadSpan() override {
    return allocator_.WithLiveBytes([this](const LiveBytes& live) {
      Span span{.peaks = live.peaks(),
                .allocation_retries = 0,
                .failed_requests = live.failed_requests() - failed_before_,
                .unmet = std::nullopt};
      if (span.failed_requests > 0 && live.unmet().has_value()) {
        span.unmet = {.asked = *live.unmet(),
                      .allocated = live.allocated(),
                      .reserved = live.allocated()};
      }
      return span;
    });
  }

  absl::StatusOr<Settled> State() override {
    Settled settled;
    settled.reserved = allocator_.WithLiveBytes(
        [](const LiveBytes& live) { return live.allocated(); });
    return settled;
  }

 private:
  RecordingAllocator& allocator_;
  int64_t failed_before_ = 0;
};

}  // namespace

std::unique_ptr<Device> StartCpuDevice(std::optional<Bytes> cap,
                                       Recorder& recorder) {
  // Never destroyed: blocks are freed until the process ends.
  the_allocator = new RecordingAllocator(cap, recorder);
  constexpr uint8_t kAboveTorchsOwn = 1;
  c10::SetCPUAllocator(the_allocator, kAboveTorchsOwn);
  return std::make_unique<CpuDevice>(*the_allocator);
}

}  // namespace memplan::gpu
