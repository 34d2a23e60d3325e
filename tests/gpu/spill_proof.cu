// Shows that the spill check tells the card's own memory from the host's: reads
// both with it, and prints what came out. Exits with 1 if a verdict is wrong.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "cuda/spill_check.h"
#include "cuda/worker/messages/spilled.h"

namespace {

using memplan::gpu::MemoryRange;

constexpr size_t kBytes = size_t{256} << 20;

bool Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return true;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  return false;
}

}  // namespace

int main() {
  void* own = nullptr;
  void* host = nullptr;
  void* mapped = nullptr;
  if (!Check(cudaMalloc(&own, kBytes), "cudaMalloc") ||
      !Check(cudaMemset(own, 0, kBytes), "cudaMemset") ||
      !Check(cudaHostAlloc(&host, kBytes, cudaHostAllocMapped),
             "cudaHostAlloc") ||
      !Check(cudaHostGetDevicePointer(&mapped, host, 0),
             "cudaHostGetDevicePointer")) {
    return 2;
  }
  const std::vector<MemoryRange> ranges = {
      {own, kBytes},    {own, memplan::gpu::kSmallestJudgedRange},
      {mapped, kBytes}, {mapped, memplan::gpu::kSmallestJudgedRange},
      {own, 1024},
  };
  const std::vector<bool> spilled = {false, false, true, true, false};
  std::vector<double> speeds(ranges.size());
  const char* fault = memplan::gpu::MeasureReadSpeeds(
      ranges.data(), ranges.size(), speeds.data());
  if (fault != nullptr) {
    std::fprintf(stderr, "MeasureReadSpeeds: %s\n", fault);
    return 2;
  }
  const double peak = memplan::gpu::PeakMemorySpeed();
  std::printf("peak by clock and width: %.0f GB/s\n", peak / 1e9);
  int wrong = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const bool verdict = memplan::gpu::IsSpilled(speeds[i], peak);
    wrong += verdict == spilled[i] ? 0 : 1;
    std::printf("%s memory, %zu bytes: %.1f GB/s, %s\n",
                spilled[i] ? "the host's" : "the card's", ranges[i].bytes,
                speeds[i] / 1e9, verdict ? "spilled" : "not spilled");
  }
  return wrong == 0 ? 0 : 1;
}
