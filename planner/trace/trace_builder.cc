#include "planner/trace/trace_builder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

bool HasBytes(EventKind kind) {
  switch (kind) {
    case EventKind::kAlloc:
    case EventKind::kSegmentAlloc:
    case EventKind::kSegmentFree:
    case EventKind::kSegmentMap:
    case EventKind::kSegmentUnmap:
    case EventKind::kFailedRequest:
      return true;
    default:
      return false;
  }
}

absl::Status CheckBytes(const TraceEntry& entry) {
  if (!HasBytes(entry.kind)) return absl::OkStatus();
  if (entry.bytes < 1 || entry.bytes > kMaxEventBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a size of ", entry.bytes,
                                                   " bytes; it must be in 1 … ",
                                                   kMaxEventBytes));
  }
  if (entry.address > UINT64_MAX - static_cast<uint64_t>(entry.bytes)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%d bytes at %x pass the end of memory", entry.bytes, entry.address));
  }
  return absl::OkStatus();
}

absl::Status CheckName(std::string_view name) {
  if (std::none_of(name.begin(), name.end(), [](char c) {
        return absl::ascii_iscntrl(static_cast<unsigned char>(c));
      })) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "a name holds a control character; names are one line of text");
}

AddressRange RangeOf(const TraceEntry& entry) {
  return {entry.address, entry.address + static_cast<uint64_t>(entry.bytes)};
}

}  // namespace

absl::Status TraceBuilder::Add(const TraceEntry& entry) {
  absl::Status status = AddChecked(entry);
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("event ", NextEvent(), ": ",
                                                  status.message()));
}

absl::Status TraceBuilder::AddChecked(const TraceEntry& entry) {
  if (trace_.events.size() >= kNoId) {
    return absl::InvalidArgumentError("a trace holds at most 2^32 - 1 events");
  }
  MEMPLAN_RETURN_IF_ERROR(CheckBytes(entry));
  MEMPLAN_RETURN_IF_ERROR(CheckName(entry.name));
  TraceEvent event = {.kind = entry.kind, .address = entry.address};
  if (HasBytes(entry.kind)) event.bytes = entry.bytes;
  switch (entry.kind) {
    case EventKind::kPhase:
      if (entry.name.empty()) {
        return absl::InvalidArgumentError("a phase without a name");
      }
      event.name = trace_.names.Add(entry.name);
      operators_.Clear();
      break;
    case EventKind::kOperator:
      return AddOperator(entry, event);
    case EventKind::kAlloc:
      return AddAlloc(entry, event);
    case EventKind::kFreeRequested:
    case EventKind::kFree:
      return AddFree(entry, event);
    case EventKind::kSegmentAlloc:
    case EventKind::kSegmentFree:
    case EventKind::kSegmentMap:
    case EventKind::kSegmentUnmap:
      return AddSegmentEvent(entry, event);
    case EventKind::kFailedRequest:
      event.name = entry.name.empty() ? kNoId : trace_.names.Add(entry.name);
      event.depth = DepthOfAsking(entry, event.name);
      event.stream = StreamId(entry.stream);
      break;
    case EventKind::kEmptyCache:
      break;
    default:
      return absl::InvalidArgumentError("an event of unknown kind");
  }
  Append(event);
  return absl::OkStatus();
}

absl::Status TraceBuilder::AddOperator(const TraceEntry& entry,
                                       TraceEvent event) {
  if (entry.depth < 1 || entry.depth > kMaxDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat("an operator at depth ", entry.depth,
                     "; operators nest from 1 to ", kMaxDepth, " deep"));
  }
  event.depth = static_cast<uint16_t>(entry.depth);
  event.name = entry.name.empty() ? kNoId : trace_.names.Add(entry.name);
  operators_.Begin(NextEvent(), event.depth);
  Append(event);
  return absl::OkStatus();
}

absl::Status TraceBuilder::AddAlloc(const TraceEntry& entry, TraceEvent event) {
  const AddressRange range = RangeOf(entry);
  const auto found = LiveIn(range);
  if (found != live_.end()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the block [%x, %x) overlaps the one of event %d, which has not been "
        "freed",
        range.begin, range.end, trace_.blocks[found->second.block].alloc));
  }
  if (saw_segment_ && !reserved_.Holds(range)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the block [%x, %x) lies in no segment; is a segment's "
                        "event missing?",
                        range.begin, range.end));
  }
  event.name = entry.name.empty() ? kNoId : trace_.names.Add(entry.name);
  event.depth = DepthOfAsking(entry, event.name);
  event.stream = StreamId(entry.stream);
  event.link = static_cast<uint32_t>(trace_.blocks.size());
  live_.emplace(range.begin, LiveBlock{range.end, event.link});
  trace_.blocks.push_back({.alloc = NextEvent()});
  Append(event);
  return absl::OkStatus();
}

absl::Status TraceBuilder::AddFree(const TraceEntry& entry, TraceEvent event) {
  const auto found = live_.find(entry.address);
  if (found == live_.end()) return NotLive(entry.address);
  event.link = found->second.block;
  TraceBlock& block = trace_.blocks[event.link];
  event.stream = trace_.events[block.alloc].stream;
  if (entry.kind == EventKind::kFreeRequested) {
    if (block.free_requested != kNoId) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "a second request to free the block at %x; the first is event %d",
          entry.address, block.free_requested));
    }
    block.free_requested = NextEvent();
  } else {
    block.free = NextEvent();
    freed_[entry.address] = block.free;
    live_.erase(found);
  }
  Append(event);
  return absl::OkStatus();
}

absl::Status TraceBuilder::NotLive(uint64_t address) const {
  const auto freed = freed_.find(address);
  if (freed != freed_.end()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the block at %x is freed twice; event %d freed it before", address,
        freed->second));
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "a free at %x, where no block was handed out; record from "
      "the start of the process",
      address));
}

absl::Status TraceBuilder::AddSegmentEvent(const TraceEntry& entry,
                                           TraceEvent event) {
  const AddressRange range = RangeOf(entry);
  switch (entry.kind) {
    case EventKind::kSegmentAlloc:
      MEMPLAN_RETURN_IF_ERROR(reserved_.AddSegment(range));
      break;
    case EventKind::kSegmentMap:
      MEMPLAN_RETURN_IF_ERROR(reserved_.Map(range));
      break;
    case EventKind::kSegmentFree:
      MEMPLAN_RETURN_IF_ERROR(CheckNoLiveBlockIn(range));
      MEMPLAN_RETURN_IF_ERROR(reserved_.RemoveSegment(range));
      break;
    default:
      MEMPLAN_RETURN_IF_ERROR(CheckNoLiveBlockIn(range));
      MEMPLAN_RETURN_IF_ERROR(reserved_.Unmap(range));
      break;
  }
  saw_segment_ = true;
  event.stream = StreamId(entry.stream);
  Append(event);
  return absl::OkStatus();
}

absl::Status TraceBuilder::CheckNoLiveBlockIn(AddressRange range) const {
  const auto found = LiveIn(range);
  if (found == live_.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "[%x, %x) goes back to the driver, but the block at %x in it, of event "
      "%d, has not been freed",
      range.begin, range.end, found->first,
      trace_.blocks[found->second.block].alloc));
}

TraceBuilder::LiveBlocks::const_iterator TraceBuilder::LiveIn(
    AddressRange range) const {
  // The last that begins before the range ends, if it ends after its begin.
  auto found = live_.lower_bound(range.end);
  if (found == live_.begin()) return live_.end();
  --found;
  return found->second.end > range.begin ? found : live_.end();
}

uint32_t TraceBuilder::StreamId(uint64_t handle) {
  if (handle == 0) return 0;
  const auto [entry, is_new] = streams_.try_emplace(
      handle, static_cast<uint32_t>(trace_.streams.size()));
  if (is_new) trace_.streams.push_back(handle);
  return entry->second;
}

uint16_t TraceBuilder::DepthOfAsking(const TraceEntry& entry,
                                     uint32_t name) const {
  if (name != kNoId && entry.depth >= 1 && entry.depth <= kMaxDepth) {
    const uint32_t told = operators_.At(static_cast<uint32_t>(entry.depth));
    if (told != kNoId && trace_.events[told].name == name) {
      return static_cast<uint16_t>(entry.depth);
    }
  }
  return DepthOfInnermost(operators_, trace_.events, name);
}

absl::Status TraceBuilder::AddSignature(const Signature& signature) {
  if (trace_.events.empty() ||
      trace_.events.back().kind != EventKind::kOperator) {
    return absl::InvalidArgumentError(
        "a signature that does not follow on its operator");
  }
  if (trace_.events.back().link != kNoId) {
    return absl::InvalidArgumentError("a second signature of one operator");
  }
  trace_.events.back().link =
      static_cast<uint32_t>(trace_.signatures.signatures.size());
  trace_.signatures.signatures.push_back(signature);
  return absl::OkStatus();
}

absl::StatusOr<Trace> TraceBuilder::Build() {
  if (trace_.events.empty()) {
    return absl::InvalidArgumentError(
        "the trace is empty; it must hold at least one event");
  }
  Trace built = std::exchange(trace_, Trace());
  *this = TraceBuilder();
  return built;
}

}  // namespace memplan
