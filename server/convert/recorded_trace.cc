#include "server/convert/recorded_trace.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cuda/worker/messages/trace_layout.h"
#include "planner/base/status_macros.h"
#include "planner/trace/signature.h"
#include "planner/trace/signature_text.h"
#include "planner/trace/trace_builder.h"

namespace memplan {
namespace {

using gpu::TraceHeader;
using gpu::TraceRecord;

absl::Status Damaged(const std::string& why) {
  return absl::InvalidArgumentError(
      absl::StrCat("the recorded trace is damaged: ", why));
}

// A plain value at `offset`, which must lie within.
template <typename Value>
Value ReadAt(std::string_view bytes, size_t offset) {
  Value value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

absl::StatusOr<TraceHeader> ReadHeader(std::string_view bytes) {
  if (bytes.size() < gpu::kTraceRecordsOffset) {
    return Damaged(absl::StrCat("it has ", bytes.size(), " bytes"));
  }
  const auto header = ReadAt<TraceHeader>(bytes, 0);
  if (header.version != gpu::kTraceVersion) {
    return Damaged(absl::StrCat("it has version ", header.version, ", not ",
                                gpu::kTraceVersion, "; record it again"));
  }
  if (header.records_lost > 0) {
    return absl::DataLossError(
        absl::StrCat("the recorded trace lacks its last ", header.records_lost,
                     " records, for which there was no room; record fewer "
                     "steps"));
  }
  const uint64_t room =
      (bytes.size() - gpu::kTraceRecordsOffset) / sizeof(TraceRecord);
  if (header.name_bytes > gpu::kTraceNamesBytes || header.record_count > room) {
    return Damaged("its counts pass its end");
  }
  return header;
}

absl::StatusOr<std::vector<std::string_view>> ReadNames(
    std::string_view bytes, const TraceHeader& header) {
  std::string_view area =
      bytes.substr(gpu::kTraceNamesOffset, header.name_bytes);
  std::vector<std::string_view> names;
  while (names.size() < header.name_count) {
    uint16_t length = 0;
    if (area.size() < sizeof(length)) return Damaged("names are missing");
    length = ReadAt<uint16_t>(area, 0);
    area.remove_prefix(sizeof(length));
    if (area.size() < length) return Damaged("a name is cut off");
    names.push_back(area.substr(0, length));
    area.remove_prefix(length);
  }
  return names;
}

std::optional<EventKind> KindOf(gpu::TraceEvent event) {
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
  return std::nullopt;
}

// Adds records to a trace, one after the other.
class RecordReader {
 public:
  explicit RecordReader(std::vector<std::string_view> names)
      : names_(std::move(names)) {}

  absl::Status Add(const TraceRecord& record) {
    const std::optional<EventKind> kind = KindOf(record.event);
    if (!kind) return Damaged("an event of an unknown kind");
    TraceEntry entry;
    entry.kind = *kind;
    entry.depth = record.depth;
    entry.stream = record.stream;
    if (record.name != gpu::kNoName) {
      if (record.name >= names_.size()) return Damaged("a name it has not");
      entry.name = names_[record.name];
    }
    if (*kind != EventKind::kOperator && *kind != EventKind::kPhase) {
      entry.address = record.address;
      entry.bytes = static_cast<int64_t>(std::min<uint64_t>(
          record.bytes, std::numeric_limits<int64_t>::max()));
    }
    MEMPLAN_RETURN_IF_ERROR(builder_.Add(entry));
    if (*kind != EventKind::kOperator || record.address == 0) {
      return absl::OkStatus();
    }
    return AddSignature(record.address - 1);
  }

  absl::StatusOr<Trace> Build() { return builder_.Build(); }

 private:
  // Calls that are alike share their arguments.
  absl::Status AddSignature(uint64_t name) {
    if (name >= names_.size()) return Damaged("a signature it has not");
    const auto known = signatures_.find(name);
    if (known != signatures_.end()) return builder_.AddSignature(known->second);
    MEMPLAN_ASSIGN_OR_RETURN(
        const Signature signature,
        ReadSignature(names_[name], builder_.signatures(), builder_.names()));
    signatures_.emplace(name, signature);
    return builder_.AddSignature(signature);
  }

  std::vector<std::string_view> names_;
  TraceBuilder builder_;
  absl::flat_hash_map<uint64_t, Signature> signatures_;  // by name
};

}  // namespace

bool IsRecordedTrace(std::string_view bytes) {
  return bytes.size() >= sizeof(TraceHeader) &&
         ReadAt<TraceHeader>(bytes, 0).magic == gpu::kTraceMagic;
}

absl::StatusOr<Trace> ReadRecordedTrace(std::string_view bytes) {
  if (!IsRecordedTrace(bytes)) return Damaged("it does not begin as one");
  MEMPLAN_ASSIGN_OR_RETURN(const TraceHeader header, ReadHeader(bytes));
  MEMPLAN_ASSIGN_OR_RETURN(std::vector<std::string_view> names,
                           ReadNames(bytes, header));
  RecordReader reader(std::move(names));
  for (uint64_t i = 0; i < header.record_count; ++i) {
    const absl::Status added = reader.Add(ReadAt<TraceRecord>(
        bytes, gpu::kTraceRecordsOffset + i * sizeof(TraceRecord)));
    if (!added.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("record ", i, ": ", added.message()));
    }
  }
  return reader.Build();
}

}  // namespace memplan
