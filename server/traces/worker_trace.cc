#include "server/traces/worker_trace.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cuda/worker/messages/trace_layout.h"
#include "planner/base/status_macros.h"
#include "planner/trace/trace_builder.h"

namespace memplan {
namespace {

using gpu::TraceHeader;
using gpu::TraceRecord;

absl::Status Damaged(std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("the trace is damaged: ", std::string(why)));
}

// Copies one value out of the file, which need not be aligned.
template <typename Value>
Value ValueAt(std::string_view bytes, size_t offset) {
  Value value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

absl::Status CheckHeader(const TraceHeader& header, size_t file_size) {
  if (header.version != gpu::kTraceVersion) {
    return Damaged(absl::StrCat("it has version ", header.version, ", not ",
                                gpu::kTraceVersion));
  }
  if (header.name_bytes > gpu::kTraceNamesBytes) {
    return Damaged("its names pass their place");
  }
  const size_t room =
      (file_size - gpu::kTraceRecordsOffset) / sizeof(TraceRecord);
  if (header.record_count > room) {
    return Damaged(absl::StrCat("it counts ", header.record_count,
                                " records, but has room for ", room));
  }
  if (header.records_lost > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the worker had no room for ", header.records_lost,
                     " of its ", header.record_count + header.records_lost,
                     " records; give traces more memory or run fewer steps"));
  }
  return absl::OkStatus();
}

// Names are one line of text in the planner; a model may bring others.
std::string OneLine(std::string_view name) {
  std::string line(name);
  for (char& c : line) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = '?';
  }
  return line;
}

absl::StatusOr<std::vector<std::string>> ReadNames(std::string_view area,
                                                   uint32_t count) {
  std::vector<std::string> names;
  while (names.size() < count) {
    constexpr size_t kLengthBytes = sizeof(uint16_t);
    if (area.size() < kLengthBytes) {
      return Damaged(absl::StrCat("name ", names.size(), " is cut off"));
    }
    const auto length = ValueAt<uint16_t>(area, 0);
    area.remove_prefix(kLengthBytes);
    if (area.size() < length) {
      return Damaged(absl::StrCat("name ", names.size(), " is cut off"));
    }
    names.push_back(OneLine(area.substr(0, length)));
    area.remove_prefix(length);
  }
  return names;
}

absl::StatusOr<EventKind> KindOf(gpu::TraceEvent event) {
  switch (event) {
    case gpu::TraceEvent::kPhase:
      return EventKind::kPhase;
    case gpu::TraceEvent::kOperator:
      return EventKind::kOperator;
    case gpu::TraceEvent::kAlloc:
      return EventKind::kAlloc;
    case gpu::TraceEvent::kFree:
      return EventKind::kFree;
    case gpu::TraceEvent::kSegmentAlloc:
      return EventKind::kSegmentAlloc;
    case gpu::TraceEvent::kSegmentFree:
      return EventKind::kSegmentFree;
    case gpu::TraceEvent::kSegmentMap:
      return EventKind::kSegmentMap;
    case gpu::TraceEvent::kSegmentUnmap:
      return EventKind::kSegmentUnmap;
    case gpu::TraceEvent::kFailedRequest:
      return EventKind::kFailedRequest;
    case gpu::TraceEvent::kFreeRequested:
      return EventKind::kFreeRequested;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("it is of unknown kind ", static_cast<int>(event)));
}

absl::StatusOr<TraceEntry> EntryOf(const TraceRecord& record,
                                   const std::vector<std::string>& names) {
  TraceEntry entry;
  MEMPLAN_ASSIGN_OR_RETURN(entry.kind, KindOf(record.event));
  if (record.name != gpu::kNoName && record.name >= names.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has name ", record.name, " of ", names.size()));
  }
  if (record.name != gpu::kNoName) entry.name = names[record.name];
  constexpr auto kMost =
      static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  entry.bytes = static_cast<int64_t>(std::min(record.bytes, kMost));
  entry.address = record.address;
  entry.stream = record.stream;
  entry.depth = record.depth;
  return entry;
}

absl::Status AddRecords(std::string_view bytes, uint64_t count,
                        const std::vector<std::string>& names,
                        TraceBuilder& builder) {
  for (uint64_t i = 0; i < count; ++i) {
    const auto record = ValueAt<TraceRecord>(
        bytes, gpu::kTraceRecordsOffset + i * sizeof(TraceRecord));
    const absl::StatusOr<TraceEntry> entry = EntryOf(record, names);
    if (!entry.ok()) {
      return absl::Status(
          entry.status().code(),
          absl::StrCat("event ", i, ": ", entry.status().message()));
    }
    MEMPLAN_RETURN_IF_ERROR(builder.Add(*entry));
  }
  return absl::OkStatus();
}

}  // namespace

bool IsWorkerTrace(std::string_view bytes) {
  return bytes.size() >= sizeof(TraceHeader) &&
         ValueAt<uint64_t>(bytes, 0) == gpu::kTraceMagic;
}

absl::StatusOr<Trace> ReadWorkerTrace(std::string_view bytes) {
  if (!IsWorkerTrace(bytes)) {
    return Damaged("it does not begin with the magic number");
  }
  if (bytes.size() < gpu::kTraceRecordsOffset) return Damaged("it is cut off");
  const auto header = ValueAt<TraceHeader>(bytes, 0);
  MEMPLAN_RETURN_IF_ERROR(CheckHeader(header, bytes.size()));
  MEMPLAN_ASSIGN_OR_RETURN(
      const std::vector<std::string> names,
      ReadNames(bytes.substr(gpu::kTraceNamesOffset, header.name_bytes),
                header.name_count));
  TraceBuilder builder;
  MEMPLAN_RETURN_IF_ERROR(
      AddRecords(bytes, header.record_count, names, builder));
  return builder.Build();
}

}  // namespace memplan
