// What a program asks of the allocator, in order, and nothing else: the form in
// which a trace, or a prediction of one, is replayed. Flat arrays that are
// filled again and again without new memory.
//
//   phases      load           step0
//   requests    A0 A1 A2 D1    A3 A4 D4 D3 A5 D5 …
//   calls                      └──────┘ a convolution, which knows another plan:
//   alternatives               A3 A6 A7 D7 D6 D3
#ifndef MEMPLAN_PLANNER_TRACE_REQUEST_STREAM_H_
#define MEMPLAN_PLANNER_TRACE_REQUEST_STREAM_H_

#include <cstdint>
#include <vector>

#include "planner/trace/event.h"
#include "planner/trace/outline.h"
#include "planner/trace/trace.h"

namespace memplan {

// Where a size comes from.
enum class SizeOrigin : uint8_t {
  kRecorded,      // seen in a run of this very shape
  kConstant,      // the same in every recording
  kAffine,        // an exact law through all recordings
  kQuadratic,     // … of degree two
  kInterpolated,  // no exact law: on the line through the nearest recordings
  kClosedForm,    // a formula for this operator
  kHeld,          // unknown: as in the largest recording, or as assumed
  kSubstituted,   // seen in the operator's own run at this shape
};
inline constexpr int kSizeOriginCount = 8;

enum class RequestKind : uint8_t { kAlloc, kFree, kEmptyCache };

// 16 bytes. A block of 0 bytes is never asked for: pass over it and its free.
struct Request {
  int64_t bytes = 0;   // of kAlloc
  uint32_t block = 0;  // of kAlloc and kFree: below block_count
  uint16_t stream = 0;
  RequestKind kind = RequestKind::kAlloc;
  SizeOrigin origin = SizeOrigin::kRecorded;  // of kAlloc
  friend bool operator==(const Request&, const Request&) = default;
};
static_assert(sizeof(Request) == 16);

// Half open.
struct RequestRange {
  uint32_t begin = 0;
  uint32_t end = 0;
  friend bool operator==(const RequestRange&, const RequestRange&) = default;
};

// The requests of one operator call. A convolution that is refused memory takes
// its next plan: its requests are then those of the next alternative, in place
// of all from where the two begin to differ. It keeps that plan.
struct StreamCall {
  RequestRange requests = {};
  uint32_t call = kNoId;   // which irregular call of the symbolic trace
  uint32_t plans = kNoId;  // calls of one number change their plan together
  bool is_convolution = false;
  RequestRange alternatives = {};  // in RequestStream::alternatives
};

struct StreamPhase {
  uint32_t begin = 0;     // its first request
  uint32_t name = kNoId;  // an id in the names of where the stream comes from
  bool is_step = false;   // step0, step1, …, and their parts
  bool is_part = false;   // step0/forward: of the step that has begun
};

struct RequestStream {
  std::vector<Request> requests;
  std::vector<uint32_t> events;  // by request: the recording's event, or kNoId
  uint32_t block_count = 0;
  std::vector<uint64_t> streams;           // handles, by Request::stream
  std::vector<StreamPhase> phases;         // in order
  std::vector<StreamCall> calls;           // in order, apart
  std::vector<RequestRange> alternatives;  // in alternative_requests
  std::vector<Request> alternative_requests;

  // Empties it; keeps its memory.
  void Clear() {
    requests.clear();
    events.clear();
    block_count = 0;
    streams.clear();
    phases.clear();
    calls.clear();
    alternatives.clear();
    alternative_requests.clear();
  }
};

// The requests of `trace` as recorded; its calls are its convolutions, without
// alternatives. Names are those of the trace.
RequestStream StreamOf(const OutlinedTrace& outlined);
RequestStream StreamOf(const Trace& trace);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_REQUEST_STREAM_H_
