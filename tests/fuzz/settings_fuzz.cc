// Texts of settings: what is read rounds any request up, to whole blocks.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "planner/allocator/rounding.h"
#include "planner/allocator/settings.h"

namespace memplan {
namespace {

void CheckRounding(const Rounding& rounding, int64_t requested) {
  if (requested < 1 || requested > kMaxRequest) return;
  const int64_t block = rounding.BlockSize(requested);
  if (block < requested || block % kMinBlock != 0) std::abort();
  if (rounding.SegmentSize(block) < block) std::abort();
}

void ReadAndRound(std::string_view text) {
  const auto settings = ParseAllocatorSettings(text);
  if (!settings.ok()) return;
  const Rounding rounding(*settings);
  for (int power = 0; power <= 60; ++power) {
    for (const int64_t change : {-1, 0, 1}) {
      CheckRounding(rounding, (int64_t{1} << power) + change);
    }
  }
}

}  // namespace
}  // namespace memplan

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  memplan::ReadAndRound({reinterpret_cast<const char*>(data), size});
  return 0;
}
