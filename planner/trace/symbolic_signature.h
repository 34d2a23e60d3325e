// With what an operator is called, as laws of the shape: what turns a recorded
// call into one that can be run alone at a shape that was never recorded.
//
//   batch 16   conv2d(float32[16,3,224,224], …, stride [2,2])
//   batch 32   conv2d(float32[32,3,224,224], …, stride [2,2])
//   symbolic   conv2d(float32[b,3,224,224], …, stride [2,2])
#ifndef MEMPLAN_PLANNER_TRACE_SYMBOLIC_SIGNATURE_H_
#define MEMPLAN_PLANNER_TRACE_SYMBOLIC_SIGNATURE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/trace/event.h"
#include "planner/trace/recordings.h"
#include "planner/trace/signature.h"
#include "planner/trace/size_law.h"

namespace memplan {

// SignatureArgument says which numbers each kind has.
struct SymbolicArgument {
  ArgumentKind kind = ArgumentKind::kNone;
  bool on_cpu = false;
  uint32_t dtype = kNoId;  // in the names of the largest recording
  std::vector<SizeLaw> numbers;
};

struct SymbolicSignature {
  uint32_t overload = kNoId;  // in the names of the largest recording
  std::vector<SymbolicArgument> arguments;
};

// That of the operator at `mark` of the largest recording. Nothing unless every
// recording has a signature for it, of the same form, and laws for all numbers.
// `fitter` is of the recordings' points.
std::optional<SymbolicSignature> GeneralizeSignature(
    const AlignedRecordings& aligned, const SizeLawFitter& fitter,
    uint32_t mark);

// Where the signatures of that operator stand in the recordings: what has the same
// places has the same signature. Empty if a recording has none.
std::vector<uint32_t> SignaturePlaces(const AlignedRecordings& aligned,
                                      uint32_t mark);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_SYMBOLIC_SIGNATURE_H_
