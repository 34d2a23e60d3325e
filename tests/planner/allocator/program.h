// A small program for the allocator, read from any bytes: conditions first, then
// requests and frees. Run side by side by the fast allocator and the slow one,
// it shows where they differ. The fuzzer's inputs are such programs.
#ifndef MEMPLAN_TESTS_PLANNER_ALLOCATOR_PROGRAM_H_
#define MEMPLAN_TESTS_PLANNER_ALLOCATOR_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "planner/allocator/conditions.h"
#include "tests/planner/allocator/slow_allocator.h"

namespace memplan::testing {

enum class Instruction : uint8_t { kMalloc, kFree, kRequestFree, kEmptyCache };

struct Step {
  Instruction instruction = Instruction::kMalloc;
  int64_t bytes = 0;    // of kMalloc
  uint32_t stream = 0;  // of kMalloc
  size_t block = 0;     // of frees: counts the live blocks, around
};

struct Program {
  AllocatorConditions conditions;
  std::string order;  // of addresses
  std::vector<uint64_t> streams;
  std::vector<Step> steps;
};

// Any bytes are a program; short ones have few steps.
Program ReadProgram(std::span<const uint8_t> bytes);

// The bytes of a program for a seed, with that many steps. Every fourth seed is
// about blocks of max_split_size and more.
std::vector<uint8_t> RandomProgram(uint64_t seed, size_t steps);

// What differs first between the allocator and the slow one under `rules`:
// results, totals, segment events after each step, and how the blocks lie.
std::optional<std::string> FirstDifference(const Program& program,
                                           const SlowRules& rules = {});

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_PLANNER_ALLOCATOR_PROGRAM_H_
