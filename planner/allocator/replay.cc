#include "planner/allocator/replay.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

// Blocks of the trace that the allocator does not hold.
constexpr BlockId kNotYet = kNoBlock;
constexpr BlockId kNeverServed = kNoBlock - 1;  // its request failed
constexpr BlockId kCompleted = kNoBlock - 2;    // its free, by a release
constexpr BlockId kFreed = kNoBlock - 3;

bool IsHeld(BlockId id) { return id < kFreed; }

absl::Status Inconsistent(uint32_t event, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("event ", event, ": ", std::string(what)));
}

void RaiseTo(Peak& peak, const Peak& other) {
  if (other.bytes > peak.bytes) peak = other;
}

void RaiseTo(AllocatorPeaks& peaks, const AllocatorPeaks& other) {
  if (other.allocated.bytes > peaks.allocated.bytes) {
    peaks.reserved_at_peak_allocated = other.reserved_at_peak_allocated;
  }
  if (other.reserved.bytes > peaks.reserved.bytes) {
    peaks.allocated_at_peak_reserved = other.allocated_at_peak_reserved;
  }
  RaiseTo(peaks.requested, other.requested);
  RaiseTo(peaks.allocated, other.allocated);
  RaiseTo(peaks.active, other.active);
  RaiseTo(peaks.reserved, other.reserved);
}

}  // namespace

bool IsCaughtOperator(std::string_view operator_name) {
  return operator_name.find("convolution") != std::string_view::npos;
}

absl::StatusOr<ReplayReport> TraceReplay::Run(const Trace& trace,
                                              const ReplayOptions& options) {
  if (trace.streams.size() > CachingAllocator::kMaxStreams) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the trace has ", trace.streams.size(), " streams; at most ",
        CachingAllocator::kMaxStreams, " can be replayed"));
  }
  trace_ = &trace;
  report_ = ReplayReport();
  is_over_ = false;
  blocks_.assign(trace.blocks.size(), kNotYet);
  awaited_.clear();
  completions_ = 0;
  allocator_.Reset(trace.streams);

  const auto count = static_cast<uint32_t>(
      std::min<size_t>(trace.events.size(), options.end_event));
  BeginPhase("", 0);
  uint32_t index = 0;
  for (; index < count && !is_over_; ++index) {
    MEMPLAN_RETURN_IF_ERROR(RunEvent(index));
  }
  EndPhase(index);
  report_.retries = allocator_.retries();
  report_.segments_freed = allocator_.segments_freed();
  MEMPLAN_RETURN_IF_ERROR(allocator_.address_status());
  return std::move(report_);
}

absl::Status TraceReplay::RunEvent(uint32_t index) {
  const TraceEvent& event = trace_->events[index];
  switch (event.kind) {
    case EventKind::kAlloc:
      return RunAlloc(event, index);
    case EventKind::kFreeRequested:
    case EventKind::kFree:
      return RunFree(event, index);
    case EventKind::kFailedRequest:
      RunFailedRequest(event, index);
      break;
    case EventKind::kEmptyCache:
      allocator_.set_event(index);
      allocator_.EmptyCache();
      NoteCompletions();
      break;
    case EventKind::kPhase:
      EndPhase(index);
      BeginPhase(trace_->Name(event), index);
      break;
    default:
      break;
  }
  return absl::OkStatus();
}

absl::Status TraceReplay::RunAlloc(const TraceEvent& event, uint32_t index) {
  if (event.link >= blocks_.size()) {
    return Inconsistent(index, "the trace does not have its block");
  }
  BlockId& held = blocks_[event.link];
  if (held != kNotYet) {
    return Inconsistent(index, "its block was handed out before");
  }
  if (event.stream >= trace_->streams.size()) {
    return Inconsistent(index, "the trace does not have its stream");
  }
  allocator_.set_event(index);
  held = allocator_.Malloc(event.bytes, event.stream);
  if (!awaited_.empty()) NoteCompletions();
  if (held == kNoBlock) {
    held = kNeverServed;
    return NoteFailure(event, index, /*was_recorded=*/false);
  }
  if (allocator_.blocks()[held].address != event.address &&
      !report_.first_moved.has_value()) {
    report_.first_moved = index;
  }
  return absl::OkStatus();
}

absl::Status TraceReplay::RunFree(const TraceEvent& event, uint32_t index) {
  if (event.link >= blocks_.size() || blocks_[event.link] == kNotYet ||
      blocks_[event.link] == kFreed) {
    return Inconsistent(index, "it frees a block that is not live");
  }
  BlockId& held = blocks_[event.link];
  if (event.kind == EventKind::kFreeRequested) {
    if (!IsHeld(held)) return absl::OkStatus();
    if (allocator_.blocks()[held].state == BlockState::kFreeRequested) {
      return Inconsistent(index, "a second request to free its block");
    }
    allocator_.RequestFree(held);
    awaited_.push_back(event.link);
    return absl::OkStatus();
  }
  if (IsHeld(held)) allocator_.Free(held);
  held = kFreed;
  return absl::OkStatus();
}

// If it does not fail here, what the program would do with the block is not
// known: it is given back at once.
void TraceReplay::RunFailedRequest(const TraceEvent& event, uint32_t index) {
  allocator_.set_event(index);
  const uint32_t stream =
      event.stream < trace_->streams.size() ? event.stream : 0;
  const BlockId served = allocator_.Malloc(event.bytes, stream);
  NoteCompletions();
  if (served == kNoBlock) {
    NoteFailure(event, index, /*was_recorded=*/true).IgnoreError();
  } else {
    ++report_.served_failures;
    allocator_.Free(served);
  }
}

// Not OK if the addresses, and not a lack of memory, are the reason.
absl::Status TraceReplay::NoteFailure(const TraceEvent& event, uint32_t index,
                                      bool was_recorded) {
  MEMPLAN_RETURN_IF_ERROR(allocator_.address_status());
  const std::string_view name = trace_->Name(event);
  const bool is_caught = IsCaughtOperator(name);
  report_.failed_requests.push_back({.event = index,
                                     .bytes = Bytes(event.bytes),
                                     .operator_name = std::string(name),
                                     .was_recorded = was_recorded,
                                     .is_caught = is_caught});
  ++report_.phases.back().failed_requests;
  if (!is_caught && report_.end == ReplayEnd::kOk) {
    report_.end = ReplayEnd::kOutOfMemory;
    report_.failed_request = index;
  }
  is_over_ = is_over_ || (!is_caught && !was_recorded);
  return absl::OkStatus();
}

// A release waits for the device, which completes every free.
void TraceReplay::NoteCompletions() {
  if (allocator_.completions() == completions_) return;
  completions_ = allocator_.completions();
  for (const uint32_t block : awaited_) {
    if (IsHeld(blocks_[block])) blocks_[block] = kCompleted;
  }
  awaited_.clear();
}

void TraceReplay::BeginPhase(std::string_view name, uint32_t index) {
  allocator_.set_event(index);
  allocator_.ResetPeaks();
  PhaseReport phase;
  phase.name = std::string(name);
  phase.first_event = index;
  // Counted from here; EndPhase takes these off.
  phase.retries = -allocator_.retries();
  phase.segments_freed = -allocator_.segments_freed();
  report_.phases.push_back(std::move(phase));
}

void TraceReplay::EndPhase(uint32_t index) {
  PhaseReport& phase = report_.phases.back();
  phase.end_event = index;
  phase.peaks = allocator_.peaks();
  phase.allocated_at_end = allocator_.allocated();
  phase.retries += allocator_.retries();
  phase.segments_freed += allocator_.segments_freed();
  RaiseTo(report_.peaks, phase.peaks);
  if (phase.first_event == phase.end_event) report_.phases.pop_back();
}

absl::StatusOr<ReplayReport> ReplayTrace(const Trace& trace,
                                         const AllocatorConditions& conditions,
                                         AddressSource& addresses) {
  CachingAllocator allocator(conditions, addresses);
  AllocatorCounters counters;
  allocator.set_counters(&counters);
  absl::StatusOr<ReplayReport> report = TraceReplay(allocator).Run(trace);
  if (report.ok()) report->counters = counters;
  return report;
}

}  // namespace memplan
