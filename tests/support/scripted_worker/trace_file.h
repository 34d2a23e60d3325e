// The scripted worker's trace: a small one as a real worker writes it, or one
// that no real worker would.
#ifndef MEMPLAN_TESTS_SUPPORT_SCRIPTED_WORKER_TRACE_FILE_H_
#define MEMPLAN_TESTS_SUPPORT_SCRIPTED_WORKER_TRACE_FILE_H_

#include <cstdint>
#include <vector>

namespace memplan::testing {

struct ScriptedTrace {
  int64_t base_bytes = 0;           // taken while loading, and given back
  std::vector<int64_t> step_bytes;  // taken for the length of each step
  int64_t scratch_bytes = 0;  // of a convolution within it; 0: there is none
  int64_t batch = 1;
};

// Writes the phases `load` and `step0`, `step1`, …, each with an operator that
// takes its bytes. The convolution has a signature.
void WriteTrace(int descriptor, const ScriptedTrace& trace);

// As before anything was written: of the run before nothing is left.
void WriteNoTrace(int descriptor);

// A header that promises more names and records than the file could hold.
void WriteWildTraceHeader(int descriptor);

// A trace that fills the file to its end and says that 7 records were lost.
void WriteOverflowingTrace(int descriptor);

// Tries to make the file empty, then to make it larger. Returns how many of
// the two were allowed.
int ResizeTrace(int descriptor);

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SUPPORT_SCRIPTED_WORKER_TRACE_FILE_H_
