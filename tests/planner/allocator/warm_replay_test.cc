// A search replays thousands of traces: after the first, none of them may ask
// for memory. Counts what this program asks for.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "gtest/gtest.h"
#include "planner/allocator/address_source.h"
#include "planner/allocator/caching_allocator.h"

namespace {
int64_t allocations = 0;
}  // namespace

// Not inlined: GCC 12 would take one of a pair for the other.
[[gnu::noinline]] void* operator new(size_t size) {
  ++allocations;
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t /*size*/) noexcept {
  std::free(memory);
}

namespace memplan {
namespace {

// Every third block lives on; the cap and the program make it release memory.
void Replay(CachingAllocator& allocator, std::vector<BlockId>& live) {
  live.clear();
  allocator.Reset();
  for (int64_t i = 0; i < 3000; ++i) {
    if (i % 500 == 499) allocator.EmptyCache();
    const BlockId id = allocator.Malloc((i * 7919 * 512) % (30 << 20) + 1);
    if (id == kNoBlock) continue;
    if (i % 3 == 0) {
      live.push_back(id);
    } else {
      allocator.Free(id);
    }
    if (live.size() > 40) {
      allocator.Free(live[static_cast<size_t>(i) % 40]);
      live[static_cast<size_t>(i) % 40] = live.back();
      live.pop_back();
    }
  }
}

class WarmReplayTest : public ::testing::TestWithParam<bool> {};

TEST_P(WarmReplayTest, AsksForNoMemory) {
  AllocatorConditions conditions;
  conditions.cap = MiB(900);
  conditions.settings.garbage_collection_threshold = 0.7;
  conditions.settings.expandable_segments = GetParam();
  DescendingAddresses addresses;
  CachingAllocator allocator(conditions, addresses);
  std::vector<BlockId> live;
  Replay(allocator, live);
  EXPECT_GT(allocator.segments_freed(), 0);
  const int64_t before = allocations;
  Replay(allocator, live);
  EXPECT_EQ(allocations, before);
}

INSTANTIATE_TEST_SUITE_P(ExpandableOrNot, WarmReplayTest, ::testing::Bool());

}  // namespace
}  // namespace memplan
