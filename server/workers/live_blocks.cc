#include "server/workers/live_blocks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace memplan {
namespace {

// No block is larger; 2^20 blocks of it could not pass 63 bits together.
constexpr uint64_t kMaxBlockBytes = uint64_t{1} << 42;

}  // namespace

absl::Status LiveBlocks::Apply(const gpu::TraceRecord& record,
                               bool of_contents) {
  switch (record.event) {
    case gpu::TraceEvent::kAlloc:
      return Add(record, of_contents);
    case gpu::TraceEvent::kFree:
      return Remove(record);
    default:
      return absl::OkStatus();
  }
}

absl::Status LiveBlocks::Add(const gpu::TraceRecord& record, bool of_contents) {
  if (record.bytes > kMaxBlockBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("hands out ", record.bytes, " bytes"));
  }
  if (by_address_.size() >= max_blocks_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "hands out a block beside ", max_blocks_, " others, the most"));
  }
  const Bytes bytes(static_cast<int64_t>(record.bytes));
  if (!by_address_.emplace(record.address, Block{bytes, of_contents}).second) {
    return absl::InvalidArgumentError("hands out a block that is live already");
  }
  live_ += bytes;
  if (of_contents) of_contents_ += bytes;
  peak_ = std::max(peak_, live_);
  return absl::OkStatus();
}

absl::Status LiveBlocks::Remove(const gpu::TraceRecord& record) {
  const auto found = by_address_.find(record.address);
  if (found == by_address_.end()) {
    return absl::InvalidArgumentError("frees a block that is not live");
  }
  const Block& block = found->second;
  live_ -= block.bytes;
  if (block.of_contents) of_contents_ -= block.bytes;
  by_address_.erase(found);
  return absl::OkStatus();
}

}  // namespace memplan
