// Texts of settings: what is read rounds any request up, to whole blocks.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "planner/allocator/rounding.h"
#include "planner/allocator/settings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace memplan;
  const auto settings =
      ParseAllocatorSettings({reinterpret_cast<const char*>(data), size});
  if (!settings.ok()) return 0;
  const Rounding rounding(*settings);
  for (int power = 0; power <= 60; ++power) {
    for (const int64_t change : {-1, 0, 1}) {
      const int64_t requested = (int64_t{1} << power) + change;
      if (requested < 1 || requested > kMaxRequest) continue;
      const int64_t block = rounding.BlockSize(requested);
      if (block < requested || block % kMinBlock != 0) std::abort();
      if (rounding.SegmentSize(block) < block) std::abort();
    }
  }
  return 0;
}
