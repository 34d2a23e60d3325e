// A symbolic trace: the requests of the largest recording of a program, their
// sizes as laws of the shape that it ran with. From two or more recordings of
// one program at different shapes.
//
//   batch 16   conv A 1600 A 900 D   relu A 1600 …
//   batch 32   conv A 3200 A 700 D   relu A 3200 …
//   symbolic   conv A 100·b  scratch relu A 100·b …
//
// Tensors that outlive their operator follow laws exactly. What an operator takes
// and gives back inside itself, of a size that varies, is scratch of a library:
// it depends on that call alone, and no recording at another shape tells it. Such
// irregular calls are listed, to be run alone at the shape asked for.
#ifndef MEMPLAN_PLANNER_TRACE_SYMBOLIC_TRACE_H_
#define MEMPLAN_PLANNER_TRACE_SYMBOLIC_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/trace/event.h"
#include "planner/trace/name_table.h"
#include "planner/trace/recordings.h"
#include "planner/trace/request_stream.h"
#include "planner/trace/size_rules.h"
#include "planner/trace/symbolic_signature.h"

namespace memplan {

struct SymbolicRequest {
  uint32_t rule = kNoId;   // of kAlloc: in SymbolicTrace::sizes
  uint32_t block = 0;      // of kAlloc and kFree
  uint32_t event = kNoId;  // in the largest recording
  uint16_t stream = 0;
  RequestKind kind = RequestKind::kAlloc;
};

// A call of an operator whose scratch is irregular, in some call of it at least.
struct SymbolicCall {
  uint32_t name = kNoId;  // in SymbolicTrace::names
  RequestRange requests = {};
  bool is_convolution = false;
  std::vector<uint32_t> outputs =
      {};  // blocks it takes that outlive it, in order
  // None: it was not recorded, or follows no law.
  std::optional<SymbolicSignature> signature = {};
  // The first call that has the same name and signature; kNoId: none is known.
  uint32_t alike = kNoId;
};

// A value, which keeps nothing of the recordings it was made from.
struct SymbolicTrace {
  std::vector<std::string> dimensions;
  std::vector<std::vector<int64_t>> shapes;  // by recording
  std::vector<double> similarity_ratios;     // to the largest, by recording
  size_t largest = 0;                        // a recording

  NameTable names;  // of the largest recording
  SizeRules sizes;
  std::vector<SymbolicRequest> requests;
  std::vector<StreamPhase> phases;
  std::vector<SymbolicCall> calls;  // the irregular ones, in order
  uint32_t block_count = 0;
  std::vector<uint64_t> streams;  // handles, by SymbolicRequest::stream

  // What each recording asked for: the answer at its shape. That of the largest
  // is left empty, since the laws give it.
  std::vector<RequestStream> recorded;
};

// kInvalidArgument if there are fewer than two recordings or more than
// kMaxRecordings, two are of one shape, their dimensions differ in name or are
// not told apart, or two traces are not of one program (with their similarity).
absl::StatusOr<SymbolicTrace> MakeSymbolicTrace(
    std::span<const Recording> recordings);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_SYMBOLIC_TRACE_H_
