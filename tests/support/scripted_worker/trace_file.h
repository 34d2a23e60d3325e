// The scripted worker's trace: a small one as a real worker writes it, or one
// that no real worker would.
#ifndef MEMPLAN_TESTS_SUPPORT_SCRIPTED_WORKER_TRACE_FILE_H_
#define MEMPLAN_TESTS_SUPPORT_SCRIPTED_WORKER_TRACE_FILE_H_

#include <cstdint>

namespace memplan::testing {

// Records in the trace that WriteTrace leaves.
inline constexpr int64_t kScriptedTraceRecords = 4;

// Writes the phase `load`, the operator `aten::conv2d`, and one block of
// `bytes` handed out and given back.
void WriteTrace(int descriptor, uint64_t bytes);

// A header that promises more names and records than the file could hold.
void WriteWildTraceHeader(int descriptor);

// A trace that fills the file to its end and says that 7 records were lost.
void WriteOverflowingTrace(int descriptor);

// Tries to make the file empty, then to make it larger. Returns how many of
// the two were allowed.
int ResizeTrace(int descriptor);

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SUPPORT_SCRIPTED_WORKER_TRACE_FILE_H_
