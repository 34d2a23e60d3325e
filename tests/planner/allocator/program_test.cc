// The fast allocator against the slow one, over random programs.
#include "tests/planner/allocator/program.h"

#include <cstdint>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace memplan {
namespace {

using ::memplan::testing::FirstDifference;
using ::memplan::testing::RandomProgram;
using ::memplan::testing::ReadProgram;

TEST(ProgramTest, ShortOnesRunAlike) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const auto difference =
        FirstDifference(ReadProgram(RandomProgram(seed, 60)));
    ASSERT_EQ(difference, std::nullopt) << "seed " << seed;
  }
}

TEST(ProgramTest, LongOnesRunAlike) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const auto difference =
        FirstDifference(ReadProgram(RandomProgram(seed + 100'000, 2000)));
    ASSERT_EQ(difference, std::nullopt) << "seed " << seed;
  }
}

}  // namespace
}  // namespace memplan
