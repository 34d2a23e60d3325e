#include <cuda_runtime.h>

#include <algorithm>

#include "cuda/spill_check.h"

namespace memplan::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerProcessor = 8;
constexpr int kRounds = 3;
constexpr size_t kMostRead = size_t{256} << 20;

// Written only if the sum has a value that it hardly ever has, so that reading
// is neither left out nor followed by writing.
__device__ unsigned int sink;

__global__ void ReadAll(const uint4* words, size_t count) {
  unsigned int sum = 0;
  const size_t stride = size_t{gridDim.x} * blockDim.x;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    const uint4 word = __ldcs(words + i);
    sum += word.x ^ word.y ^ word.z ^ word.w;
  }
  if (sum == 0x9e3779b9U) sink = sum;
}

// Owns the stream and both events.
class Stopwatch {
 public:
  Stopwatch() {
    error_ = cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    if (error_ == cudaSuccess) error_ = cudaEventCreate(&begin_);
    if (error_ == cudaSuccess) error_ = cudaEventCreate(&end_);
  }
  ~Stopwatch() {
    if (end_ != nullptr) cudaEventDestroy(end_);
    if (begin_ != nullptr) cudaEventDestroy(begin_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  cudaError_t error() const { return error_; }

  cudaError_t Time(const MemoryRange& range, int blocks, double* seconds) {
    const size_t bytes = std::min(range.bytes, kMostRead);
    cudaEventRecord(begin_, stream_);
    ReadAll<<<blocks, kThreads, 0, stream_>>>(
        static_cast<const uint4*>(range.address), bytes / sizeof(uint4));
    cudaEventRecord(end_, stream_);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) error = cudaEventSynchronize(end_);
    float milliseconds = 0;
    if (error == cudaSuccess) {
      error = cudaEventElapsedTime(&milliseconds, begin_, end_);
    }
    *seconds = static_cast<double>(milliseconds) / 1e3;
    return error;
  }

 private:
  cudaError_t error_ = cudaSuccess;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

int AttributeOf(cudaDeviceAttr attribute) {
  int device = 0;
  int value = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return 0;
  if (cudaDeviceGetAttribute(&value, attribute, device) != cudaSuccess)
    return 0;
  return value;
}

}  // namespace

const char* MeasureReadSpeeds(const MemoryRange* ranges, size_t count,
                              double* speeds) {
  const int blocks = std::max(1, AttributeOf(cudaDevAttrMultiProcessorCount)) *
                     kBlocksPerProcessor;
  Stopwatch stopwatch;
  if (stopwatch.error() != cudaSuccess) {
    return cudaGetErrorString(stopwatch.error());
  }
  for (size_t i = 0; i < count; ++i) {
    speeds[i] = 0;
    if (ranges[i].bytes < kSmallestJudgedRange) continue;
    const auto read = static_cast<double>(std::min(ranges[i].bytes, kMostRead));
    for (int round = 0; round < kRounds; ++round) {
      double seconds = 0;
      const cudaError_t error = stopwatch.Time(ranges[i], blocks, &seconds);
      if (error != cudaSuccess) return cudaGetErrorString(error);
      if (seconds > 0) speeds[i] = std::max(speeds[i], read / seconds);
    }
  }
  return nullptr;
}

double PeakMemorySpeed() {
  constexpr double kTransfersPerClock = 2;
  const double clock_khz = AttributeOf(cudaDevAttrMemoryClockRate);
  const double bits = AttributeOf(cudaDevAttrGlobalMemoryBusWidth);
  return clock_khz * 1e3 * kTransfersPerClock * bits / 8;
}

}  // namespace memplan::gpu
