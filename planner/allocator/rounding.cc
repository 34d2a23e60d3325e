#include "planner/allocator/rounding.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace memplan {

int64_t Rounding::Divided(int64_t requested) const {
  const auto size = static_cast<uint64_t>(requested);
  const int power = static_cast<int>(std::bit_width(size)) - 1;
  const auto entry = static_cast<size_t>(std::clamp(power - 20, 0, 15));
  const uint64_t divisions = divisions_[entry];
  // `divisions` is a power of two, so that a size above 512 divisions has steps
  // of 512 bytes or more: still whole units.
  if (divisions <= 1 || size / kMinBlock < divisions ||
      size == kMinBlock * divisions) {
    return RoundUp(requested, kMinBlock);
  }
  if (std::has_single_bit(size)) return requested;
  const uint64_t step = (uint64_t{1} << power) / divisions;  // a power of two
  return static_cast<int64_t>((size + step - 1) & ~(step - 1));
}

}  // namespace memplan
