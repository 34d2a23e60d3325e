#include "planner/trace/reserved_ranges.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "planner/base/status_macros.h"

namespace memplan {

ReservedRanges::Ranges::const_iterator ReservedRanges::Holding(
    uint64_t address) const {
  auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return ranges_.end();
  --after;
  return address < after->second.end ? after : ranges_.end();
}

absl::Status ReservedRanges::CheckFree(AddressRange range) const {
  auto found = Holding(range.begin);
  if (found == ranges_.end()) {
    found = ranges_.lower_bound(range.begin);
    if (found == ranges_.end() || found->first >= range.end) {
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "[%x, %x) overlaps [%x, %x), which is already held from the driver",
      range.begin, range.end, found->first, found->second.end));
}

absl::Status ReservedRanges::AddSegment(AddressRange segment) {
  MEMPLAN_RETURN_IF_ERROR(CheckFree(segment));
  ranges_.emplace(segment.begin, Held{segment.end, Kind::kSegment});
  return absl::OkStatus();
}

absl::Status ReservedRanges::RemoveSegment(AddressRange segment) {
  const auto found = ranges_.find(segment.begin);
  if (found == ranges_.end() || found->second.kind != Kind::kSegment) {
    return absl::InvalidArgumentError(
        absl::StrFormat("no segment begins at %x", segment.begin));
  }
  if (found->second.end != segment.end) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the segment at %x has %d bytes, not %d", segment.begin,
        found->second.end - segment.begin, segment.end - segment.begin));
  }
  ranges_.erase(found);
  return absl::OkStatus();
}

absl::Status ReservedRanges::Map(AddressRange piece) {
  MEMPLAN_RETURN_IF_ERROR(CheckFree(piece));
  const auto right = ranges_.find(piece.end);
  if (right != ranges_.end() && right->second.kind == Kind::kMapped) {
    piece.end = right->second.end;
    ranges_.erase(right);
  }
  auto left = ranges_.lower_bound(piece.begin);
  if (left != ranges_.begin()) {
    --left;
    if (left->second.kind == Kind::kMapped && left->second.end == piece.begin) {
      left->second.end = piece.end;
      return absl::OkStatus();
    }
  }
  ranges_.emplace(piece.begin, Held{piece.end, Kind::kMapped});
  return absl::OkStatus();
}

absl::Status ReservedRanges::Unmap(AddressRange piece) {
  const auto found = Holding(piece.begin);
  if (found == ranges_.end() || found->second.kind != Kind::kMapped ||
      found->second.end < piece.end) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "[%x, %x) is not mapped as a whole", piece.begin, piece.end));
  }
  const AddressRange whole = {found->first, found->second.end};
  ranges_.erase(found);
  if (whole.begin < piece.begin) {
    ranges_.emplace(whole.begin, Held{piece.begin, Kind::kMapped});
  }
  if (piece.end < whole.end) {
    ranges_.emplace(piece.end, Held{whole.end, Kind::kMapped});
  }
  return absl::OkStatus();
}

bool ReservedRanges::Holds(AddressRange block) const {
  const auto found = Holding(block.begin);
  return found != ranges_.end() && block.end <= found->second.end;
}

}  // namespace memplan
