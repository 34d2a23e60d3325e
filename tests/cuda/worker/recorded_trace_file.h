// A worker's trace as the planner's, for tests that compare the two.
#ifndef MEMPLAN_TESTS_CUDA_WORKER_RECORDED_TRACE_FILE_H_
#define MEMPLAN_TESTS_CUDA_WORKER_RECORDED_TRACE_FILE_H_

#include "planner/trace/trace.h"
#include "tests/cuda/worker/trial/memory_file.h"

namespace memplan::gpu {

// Fails the test for what no worker writes.
Trace PlannersTrace(const MemoryFile& file);

}  // namespace memplan::gpu

#endif  // MEMPLAN_TESTS_CUDA_WORKER_RECORDED_TRACE_FILE_H_
