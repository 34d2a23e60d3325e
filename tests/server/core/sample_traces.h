// Traces of a made-up program: the same that the scripted worker writes. Each step
// holds `base` and `sample` bytes a sample, and a convolution within it takes
// scratch that follows no law: it vanishes above a batch.
//
//   load   base │ step   base + batch · sample ├─ scratch ─┤
#ifndef MEMPLAN_TESTS_SERVER_CORE_SAMPLE_TRACES_H_
#define MEMPLAN_TESTS_SERVER_CORE_SAMPLE_TRACES_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "planner/base/bytes.h"
#include "planner/trace/call_plan.h"
#include "planner/trace/signature_text.h"
#include "planner/trace/trace_builder.h"

namespace memplan::testing {

// All sizes are multiples of 2 MiB and above 10 MiB, so that each block has a
// segment of its own size.
struct SampleProgram {
  int64_t base = MiB(64).count();
  int64_t sample = MiB(16).count();
  int64_t scratch = MiB(32).count();  // 0: there is no convolution
  int64_t scratch_until = INT64_MAX;  // the largest batch that has scratch

  int64_t StepBytes(int64_t batch) const { return base + batch * sample; }
  int64_t ScratchBytes(int64_t batch) const {
    return batch <= scratch_until ? scratch : 0;
  }
  bool Fits(int64_t batch, int64_t cap) const {
    return StepBytes(batch) + ScratchBytes(batch) <= cap;
  }
  // What the convolution does alone.
  CallPlan ConvolutionPlan(int64_t batch) const {
    const int64_t bytes = ScratchBytes(batch);
    if (bytes == 0) return {};
    return {{0, bytes}, {0, 0}};
  }
};

class SampleTraceBuilder {
 public:
  void Phase(std::string_view name) {
    Add({.kind = EventKind::kPhase, .name = name});
  }
  void Operator(std::string_view name) {
    operator_ = std::string(name);
    Add({.kind = EventKind::kOperator, .name = operator_, .depth = 1});
  }
  void Signed(const std::string& signature) {
    const auto read =
        ReadSignature(signature, builder_.signatures(), builder_.names());
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_TRUE(builder_.AddSignature(*read).ok());
  }
  void Alloc(int64_t bytes, uint64_t address) {
    Add({.kind = EventKind::kAlloc,
         .bytes = bytes,
         .address = address,
         .name = operator_,
         .depth = 1});
  }
  void Free(uint64_t address) {
    Add({.kind = EventKind::kFree, .address = address});
  }
  Trace Build() { return builder_.Build().value(); }

 private:
  void Add(const TraceEntry& entry) {
    const absl::Status added = builder_.Add(entry);
    ASSERT_TRUE(added.ok()) << added;
  }

  TraceBuilder builder_;
  std::string operator_;
};

inline Trace SampleTrace(const SampleProgram& program, int64_t batch,
                         int steps) {
  constexpr uint64_t kBlock = 0x7f00'0000'0000;
  constexpr uint64_t kScratch = 0x7e00'0000'0000;
  SampleTraceBuilder trace;
  trace.Phase("load");
  trace.Operator("aten::empty");
  trace.Alloc(program.base, kBlock);
  trace.Free(kBlock);
  for (int step = 0; step < steps; ++step) {
    trace.Phase(absl::StrCat("step", step));
    trace.Operator("aten::linear");
    trace.Alloc(program.StepBytes(batch), kBlock);
    if (program.scratch > 0) {
      trace.Operator("aten::convolution");
      trace.Signed(absl::StrCat("\tfloat32[", batch, ",1]{1,1}"));
      if (program.ScratchBytes(batch) > 0) {
        trace.Alloc(program.ScratchBytes(batch), kScratch);
        trace.Free(kScratch);
      }
    }
    trace.Free(kBlock);
  }
  return trace.Build();
}

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SERVER_CORE_SAMPLE_TRACES_H_
