#include "planner/allocator/recorded_addresses.h"

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace memplan {
namespace {

constexpr char kAdvice[] =
    "; recorded addresses hold only under the recording's own settings and "
    "cap: "
    "use descending, ascending, chunks or random:SEED";

}  // namespace

RecordedAddresses::RecordedAddresses(const Trace& trace) : trace_(trace) {
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const EventKind kind = trace.events[i].kind;
    if (kind == EventKind::kSegmentAlloc || kind == EventKind::kSegmentMap) {
      events_.push_back(static_cast<uint32_t>(i));
    }
  }
}

const TraceEvent* RecordedAddresses::Next(EventKind kind, int64_t size) {
  if (!status_.ok()) return nullptr;
  const char* wanted = kind == EventKind::kSegmentAlloc
                           ? "a segment"
                           : "a piece of an expandable segment";
  if (next_ == events_.size()) {
    status_ = absl::FailedPreconditionError(
        absl::StrCat("the replay asks for ", wanted, " of ", size,
                     " bytes, more than were recorded", kAdvice));
    return nullptr;
  }
  const TraceEvent& event = trace_.events[events_[next_]];
  if (event.kind != kind) {
    status_ = absl::FailedPreconditionError(absl::StrCat(
        "the replay asks for ", wanted, " of ", size, " bytes where event ",
        events_[next_], " was recorded, which is of another kind", kAdvice));
    return nullptr;
  }
  return &event;
}

std::optional<uint64_t> RecordedAddresses::AddSegment(int64_t size) {
  const TraceEvent* event = Next(EventKind::kSegmentAlloc, size);
  if (event == nullptr) return std::nullopt;
  if (event->bytes != size) {
    status_ = absl::FailedPreconditionError(absl::StrCat(
        "the replay asks for a segment of ", size, " bytes where event ",
        events_[next_], " has ", event->bytes, kAdvice));
    return std::nullopt;
  }
  ++next_;
  return event->address;
}

// A range begins where its first piece is mapped.
std::optional<uint64_t> RecordedAddresses::AddRange(int64_t size) {
  const TraceEvent* event = Next(EventKind::kSegmentMap, size);
  if (event == nullptr) return std::nullopt;
  return event->address;
}

void RecordedAddresses::OnMap(uint64_t address, int64_t size) {
  const TraceEvent* event = Next(EventKind::kSegmentMap, size);
  if (event == nullptr) return;
  if (event->address != address || event->bytes != size) {
    status_ = absl::FailedPreconditionError(absl::StrCat(
        "the replay maps ", size, " bytes where event ", events_[next_],
        " has ", event->bytes, " elsewhere", kAdvice));
    return;
  }
  ++next_;
}

void RecordedAddresses::Reset() {
  next_ = 0;
  status_ = absl::OkStatus();
}

}  // namespace memplan
