// How a trace lies in the memory file that daemon and worker share. The daemon
// makes it, sizes it and seals it against shrinking and growing; the worker maps
// it and writes; the daemon reads with pread and believes nothing it reads.
//
//   0            TraceHeader
//   4096         names: for each a uint16 length, then its bytes, one after the
//                other, in the order of their ids (the first has id 0)
//   4096 + 8 MiB TraceRecord[0], TraceRecord[1], … up to the file's end
//
// Plain fixed-size fields in the machine's byte order: both sides are one
// machine.
#ifndef MEMPLAN_CUDA_WORKER_MESSAGES_TRACE_LAYOUT_H_
#define MEMPLAN_CUDA_WORKER_MESSAGES_TRACE_LAYOUT_H_

#include <cstddef>
#include <cstdint>

namespace memplan::gpu {

inline constexpr uint64_t kTraceMagic = 0x31'45'43'52'54'50'4d'4d;  // MMPTRCE1
inline constexpr uint32_t kTraceVersion = 2;

struct TraceHeader {
  uint64_t magic;         // kTraceMagic
  uint32_t version;       // kTraceVersion
  uint32_t name_count;    // names written
  uint64_t name_bytes;    // bytes of the names area in use
  uint64_t record_count;  // records written
  uint64_t records_lost;  // records for which there was no room
  uint64_t names_lost;    // names for which there was no room
};

inline constexpr size_t kTraceNamesOffset = 4096;
inline constexpr size_t kTraceNamesBytes = size_t{8} << 20;
inline constexpr size_t kTraceRecordsOffset =
    kTraceNamesOffset + kTraceNamesBytes;

enum class TraceEvent : uint8_t {
  kPhase = 1,           // a phase begins; `name` is its name
  kOperator = 2,        // an operator or autograd node begins, at `depth`
  kAlloc = 3,           // a block is handed out; bytes as requested
  kFree = 4,            // the free of the block at `address` is complete
  kSegmentAlloc = 5,    // a segment comes from the driver
  kSegmentFree = 6,     // a segment goes back
  kSegmentMap = 7,      // a piece of an expandable segment is mapped
  kSegmentUnmap = 8,    // … and unmapped
  kFailedRequest = 9,   // a request of `bytes` failed
  kFreeRequested = 10,  // a free was asked for; complete at its kFree
};

// No name: the operator is unknown or there was no room for its name.
inline constexpr uint32_t kNoName = 0xffff'ffff;

struct TraceRecord {
  TraceEvent event;
  uint8_t reserved;  // 0
  uint16_t depth;    // nesting depth of the innermost operator; 0 outside any
  uint32_t name;     // id of the phase or of the innermost operator; or kNoName
  uint64_t bytes;
  // Of kOperator: 0, or 1 more than the id of the name that is its signature
  // (planner/trace/signature_text.h).
  uint64_t address;
  uint64_t stream;  // the stream's handle; 0 for the default stream
};
static_assert(sizeof(TraceHeader) == 48);
static_assert(sizeof(TraceRecord) == 32);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_MESSAGES_TRACE_LAYOUT_H_
