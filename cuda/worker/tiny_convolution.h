// Convolutions so small that only what they find missing takes time: the first in
// a process has cuDNN open its libraries, which takes some tenths of a second.
#ifndef MEMPLAN_CUDA_WORKER_TINY_CONVOLUTION_H_
#define MEMPLAN_CUDA_WORKER_TINY_CONVOLUTION_H_

#include "cuda/worker/messages/messages.h"
#include "cuda/worker/trial/device.h"

namespace memplan::gpu {

// Runs one, forward and backward, on this thread, and gives up what it took to
// the allocator. How it ends does not matter; does not throw.
void RunTinyConvolution(DeviceKind kind, Device& device);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_TINY_CONVOLUTION_H_
