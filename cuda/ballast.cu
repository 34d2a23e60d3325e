// memplan-ballast: takes memory of the first visible GPU with plain cudaMalloc and
// holds it until its input ends, so that another process meets a card that is
// really full.
//
//   memplan-ballast --take BYTES     holds at least so much, in pieces
//   memplan-ballast --leave BYTES    holds all but so much, to the driver's grain
//
// Prints one line when it holds, `holding N bytes, M free`, then waits.
#include <cuda_runtime.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr size_t kPiece = size_t{256} << 20;
constexpr size_t kGrain = size_t{2} << 20;  // the driver's
constexpr int kExitUsage = 2;
constexpr int kExitCuda = 1;

[[noreturn]] void Fail(const char* what, cudaError_t error) {
  std::fprintf(stderr, "memplan-ballast: %s: %s\n", what,
               cudaGetErrorString(error));
  std::exit(kExitCuda);
}

size_t FreeBytes() {
  size_t free = 0;
  size_t total = 0;
  const cudaError_t error = cudaMemGetInfo(&free, &total);
  if (error != cudaSuccess) Fail("reading the free memory", error);
  return free;
}

// False if the driver has not so much.
bool Take(size_t bytes) {
  void* piece = nullptr;
  const cudaError_t error = cudaMalloc(&piece, bytes);
  if (error == cudaSuccess) return true;
  if (error != cudaErrorMemoryAllocation) Fail("cudaMalloc", error);
  cudaGetLastError();
  return false;
}

size_t TakeAtLeast(size_t wanted) {
  size_t taken = 0;
  while (taken < wanted) {
    const size_t rest = wanted - taken;
    const size_t piece = rest < kPiece ? rest : kPiece;
    if (!Take(piece)) {
      std::fprintf(stderr,
                   "memplan-ballast: the device has no %zu bytes more; %zu of "
                   "%zu taken\n",
                   piece, taken, wanted);
      std::exit(kExitCuda);
    }
    taken += piece;
  }
  return taken;
}

size_t TakeAllBut(size_t left) {
  size_t taken = 0;
  size_t piece = kPiece;
  while (piece >= kGrain) {
    const size_t free = FreeBytes();
    if (free < left + piece || !Take(piece)) {
      piece /= 2;
      continue;
    }
    taken += piece;
  }
  return taken;
}

void WaitForEndOfInput() {
  char byte = 0;
  while (true) {
    const ssize_t got = read(STDIN_FILENO, &byte, 1);
    if (got == 0 || (got < 0 && errno != EINTR)) return;
  }
}

bool ParseBytes(const char* text, size_t& bytes) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || *text == '-') return false;
  bytes = value;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  size_t bytes = 0;
  const bool takes = argc == 3 && std::strcmp(argv[1], "--take") == 0;
  const bool leaves = argc == 3 && std::strcmp(argv[1], "--leave") == 0;
  if ((!takes && !leaves) || !ParseBytes(argv[2], bytes)) {
    std::fprintf(stderr,
                 "usage: memplan-ballast --take BYTES | --leave BYTES\n"
                 "holds memory of a GPU until its input ends\n");
    return kExitUsage;
  }
  const size_t taken = takes ? TakeAtLeast(bytes) : TakeAllBut(bytes);
  std::printf("holding %zu bytes, %zu free\n", taken, FreeBytes());
  std::fflush(stdout);
  WaitForEndOfInput();
  return 0;
}
