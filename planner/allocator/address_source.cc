#include "planner/allocator/address_source.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "planner/allocator/rounding.h"

namespace memplan {
namespace {

constexpr uint64_t kEnd = uint64_t{1} << 63;
constexpr int64_t kAlignment = 2 << 20;  // of every segment seen
constexpr int64_t kRegion = 32 << 20;

// More holes than any process had; further ones are not used again, so that a
// search among them stays short.
constexpr size_t kMostHoles = 4096;

// The places of a random order: each takes one segment.
constexpr int kPlaceBits = 42;
constexpr int kCountBits = 20;

uint64_t Aligned(int64_t size, int64_t unit) {
  return static_cast<uint64_t>(RoundUp(size, unit));
}

// One of 2^20 numbers for each of them: a Feistel network.
uint64_t Shuffled(uint64_t number, uint64_t seed) {
  constexpr uint64_t kHalf = (1 << (kCountBits / 2)) - 1;
  uint64_t left = number >> (kCountBits / 2);
  uint64_t right = number & kHalf;
  for (int round = 0; round < 4; ++round) {
    uint64_t mixed = (right + seed + 1) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9u;
    const uint64_t next = left ^ ((mixed >> 32) & kHalf);
    left = right;
    right = next;
    seed = seed * 0x9e3779b97f4a7c15u + 1;
  }
  return left << (kCountBits / 2) | right;
}

// The next place below `lowest` for `size`, which moves down to it.
std::optional<uint64_t> TakeBelow(uint64_t& lowest, uint64_t size) {
  if (size >= lowest) return std::nullopt;
  return lowest -= size;
}

}  // namespace

std::optional<uint64_t> DescendingAddresses::AddSegment(int64_t size) {
  return TakeBelow(lowest_, Aligned(size, kAlignment));
}

std::optional<uint64_t> AscendingAddresses::AddSegment(int64_t size) {
  const uint64_t taken = Aligned(size, kAlignment);
  if (taken > kEnd - next_) return std::nullopt;
  next_ += taken;
  return next_ - taken;
}

std::optional<uint64_t> RandomAddresses::AddSegment(int64_t size) {
  if (size > int64_t{1} << kPlaceBits || count_ >> kCountBits != 0) {
    return std::nullopt;
  }
  return (Shuffled(count_++, seed_) + 1) << kPlaceBits;
}

std::optional<uint64_t> ChunkAddresses::AddSegment(int64_t size) {
  const uint64_t taken = Aligned(size, kAlignment);
  const auto hole = std::find_if(
      holes_.begin(), holes_.end(),
      [taken](const Hole& each) { return each.end - each.begin >= taken; });
  if (hole == holes_.end()) return AddRegion(size);
  const uint64_t address = hole->begin;
  hole->begin += taken;
  if (hole->begin == hole->end) holes_.erase(hole);
  return address;
}

std::optional<uint64_t> ChunkAddresses::AddRegion(int64_t size) {
  const uint64_t taken = Aligned(size, kAlignment);
  const std::optional<uint64_t> region =
      TakeBelow(lowest_, Aligned(size, kRegion));
  if (region.has_value()) {
    const uint64_t end = *region + Aligned(size, kRegion);
    if (*region + taken < end)
      Remove(*region + taken, static_cast<int64_t>(end - *region - taken));
  }
  return region;
}

std::optional<uint64_t> ChunkAddresses::AddRange(int64_t size) {
  return TakeBelow(lowest_, Aligned(size, kRegion));
}

void ChunkAddresses::Remove(uint64_t address, int64_t size) {
  Hole hole = {address, address + Aligned(size, kAlignment)};
  auto after = std::lower_bound(
      holes_.begin(), holes_.end(), hole.begin,
      [](const Hole& each, uint64_t begin) { return each.begin < begin; });
  if (after != holes_.end() && after->begin == hole.end) {
    hole.end = after->end;
    after = holes_.erase(after);
  }
  if (after != holes_.begin() && std::prev(after)->end == hole.begin) {
    std::prev(after)->end = hole.end;
  } else if (holes_.size() < kMostHoles) {
    holes_.insert(after, hole);
  }
}

void ChunkAddresses::Reset() {
  lowest_ = ChunkAddresses().lowest_;
  holes_.clear();
}

absl::StatusOr<std::unique_ptr<AddressSource>> MakeAddressSource(
    std::string_view name) {
  constexpr std::string_view kRandom = "random:";
  if (name == "descending") return std::make_unique<DescendingAddresses>();
  if (name == "ascending") return std::make_unique<AscendingAddresses>();
  if (name == "chunks") return std::make_unique<ChunkAddresses>();
  if (name.starts_with(kRandom)) {
    const std::string_view digits = name.substr(kRandom.size());
    uint64_t seed = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), seed);
    if (error == std::errc() && end == digits.data() + digits.size()) {
      return std::make_unique<RandomAddresses>(seed);
    }
  }
  constexpr size_t kShown = 40;
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", absl::CHexEscape(std::string(name.substr(0, kShown))),
      "\" is no order of addresses; use descending, ascending, chunks or "
      "random:SEED with a whole number"));
}

}  // namespace memplan
