// Programs for the allocator: whatever the bytes say, it does as the slow one.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "tests/planner/allocator/program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using memplan::testing::FirstDifference;
  using memplan::testing::ReadProgram;
  const std::optional<std::string> difference =
      FirstDifference(ReadProgram({data, size}));
  if (difference.has_value()) {
    std::fprintf(stderr, "%s\n", difference->c_str());
    std::abort();
  }
  return 0;
}
