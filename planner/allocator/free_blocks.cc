#include "planner/allocator/free_blocks.h"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace memplan {

void FreeBlocks::Insert(BlockTable& blocks, BlockId id) {
  const Place place = PlaceOf(blocks, id);
  const size_t bucket = BucketOf(place.size);
  bitmap_[bucket / 64] |= uint64_t{1} << (bucket % 64);

  BlockId* link = &roots_[bucket];
  while (*link != kNoBlock && PriorityOf(*link) > PriorityOf(id)) {
    Block& node = blocks[*link];
    link = place < PlaceOf(blocks, *link) ? &node.left : &node.right;
  }
  // The subtree here is split by `place`; its halves go below the new node.
  BlockId rest = *link;
  *link = id;
  BlockId* smaller = &blocks[id].left;
  BlockId* larger = &blocks[id].right;
  while (rest != kNoBlock) {
    Block& node = blocks[rest];
    if (place < PlaceOf(blocks, rest)) {
      *larger = rest;
      larger = &node.left;
      rest = node.left;
    } else {
      *smaller = rest;
      smaller = &node.right;
      rest = node.right;
    }
  }
  *smaller = kNoBlock;
  *larger = kNoBlock;
}

void FreeBlocks::Remove(BlockTable& blocks, BlockId id) {
  const Place place = PlaceOf(blocks, id);
  const size_t bucket = BucketOf(place.size);
  BlockId* link = &roots_[bucket];
  while (*link != id) {
    Block& node = blocks[*link];
    link = place < PlaceOf(blocks, *link) ? &node.left : &node.right;
  }
  // Its two subtrees become one.
  BlockId smaller = blocks[id].left;
  BlockId larger = blocks[id].right;
  while (smaller != kNoBlock && larger != kNoBlock) {
    if (PriorityOf(smaller) > PriorityOf(larger)) {
      *link = smaller;
      link = &blocks[smaller].right;
      smaller = *link;
    } else {
      *link = larger;
      link = &blocks[larger].left;
      larger = *link;
    }
  }
  *link = smaller != kNoBlock ? smaller : larger;
  if (roots_[bucket] == kNoBlock) {
    bitmap_[bucket / 64] &= ~(uint64_t{1} << (bucket % 64));
  }
}

bool FreeBlocks::Resize(BlockTable& blocks, BlockId id, uint64_t address,
                        int64_t size) {
  Block& block = blocks[id];
  if (roots_[BucketOf(size)] != id || block.left != kNoBlock ||
      block.right != kNoBlock) {
    return false;
  }
  block.address = address;
  block.size = size;
  return true;
}

BlockId FreeBlocks::FirstNotBefore(const BlockTable& blocks,
                                   Place place) const {
  const size_t bucket = BucketOf(place.size);
  BlockId found = kNoBlock;
  for (BlockId node = roots_[bucket]; node != kNoBlock;) {
    const bool is_before = PlaceOf(blocks, node) < place;
    if (!is_before) found = node;
    node = is_before ? blocks[node].right : blocks[node].left;
  }
  if (found != kNoBlock) return found;

  size_t word = bucket / 64;
  uint64_t above = bitmap_[word] & (~uint64_t{1} << (bucket % 64));
  while (above == 0) {
    if (++word == kWords) return kNoBlock;
    above = bitmap_[word];
  }
  BlockId node =
      roots_[word * 64 + static_cast<size_t>(std::countr_zero(above))];
  while (blocks[node].left != kNoBlock) node = blocks[node].left;
  return node;
}

BlockId FreeBlocks::LastBefore(const BlockTable& blocks, Place place) const {
  const size_t bucket = BucketOf(place.size);
  BlockId found = kNoBlock;
  for (BlockId node = roots_[bucket]; node != kNoBlock;) {
    const bool is_before = PlaceOf(blocks, node) < place;
    if (is_before) found = node;
    node = is_before ? blocks[node].right : blocks[node].left;
  }
  if (found != kNoBlock) return found;

  size_t word = bucket / 64;
  uint64_t below = bitmap_[word] & ((uint64_t{1} << (bucket % 64)) - 1);
  while (below == 0) {
    if (word == 0) return kNoBlock;
    below = bitmap_[--word];
  }
  BlockId node =
      roots_[word * 64 + static_cast<size_t>(std::bit_width(below)) - 1];
  while (blocks[node].right != kNoBlock) node = blocks[node].right;
  return node;
}

BlockId FreeBlocks::FirstAtLeast(const BlockTable& blocks, int64_t size,
                                 uint64_t address) const {
  return FirstNotBefore(blocks, {size, address});
}

BlockId FreeBlocks::LastBelow(const BlockTable& blocks, int64_t size) const {
  return LastBefore(blocks, {size, 0});
}

BlockId FreeBlocks::Before(const BlockTable& blocks, BlockId id) const {
  return LastBefore(blocks, PlaceOf(blocks, id));
}

BlockId FreeBlocks::After(const BlockTable& blocks, BlockId id) const {
  return FirstNotBefore(blocks, {blocks[id].size, blocks[id].address + 1});
}

void FreeBlocks::Clear() {
  for (size_t word = 0; word < kWords; ++word) {
    for (uint64_t bits = bitmap_[word]; bits != 0; bits &= bits - 1) {
      roots_[word * 64 + static_cast<size_t>(std::countr_zero(bits))] =
          kNoBlock;
    }
  }
  bitmap_ = {};
}

}  // namespace memplan
