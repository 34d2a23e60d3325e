// Where new segments come to lie. The allocator orders free blocks of one size
// by address, so the answer can change which block is reused; no program can
// foresee it, except by replaying with several orders. With expandable segments
// the order does not matter.
#ifndef MEMPLAN_PLANNER_ALLOCATOR_ADDRESS_SOURCE_H_
#define MEMPLAN_PLANNER_ALLOCATOR_ADDRESS_SOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace memplan {

// Stands for the driver's choice of addresses. Ranges that it has given and not
// taken back never overlap. Not thread-safe.
class AddressSource {
 public:
  virtual ~AddressSource() = default;

  // The address of a new segment; none: the driver has no room for it.
  virtual std::optional<uint64_t> AddSegment(int64_t size) = 0;
  // Of the range of a new expandable segment, of which nothing is mapped yet.
  virtual std::optional<uint64_t> AddRange(int64_t size) {
    return AddSegment(size);
  }
  // A piece of a range was mapped.
  virtual void OnMap(uint64_t /*address*/, int64_t /*size*/) {}
  // A segment or range went back.
  virtual void Remove(uint64_t /*address*/, int64_t /*size*/) {}

  // Begins anew; the same calls then get the same answers.
  virtual void Reset() = 0;

  // What went wrong, if its answers could not be what was asked for.
  virtual absl::Status status() const { return absl::OkStatus(); }
};

// Each new segment below or above all those before.
class DescendingAddresses : public AddressSource {
 public:
  std::optional<uint64_t> AddSegment(int64_t size) override;
  void Reset() override { *this = DescendingAddresses(); }

 private:
  uint64_t lowest_ = uint64_t{1} << 62;
};

class AscendingAddresses : public AddressSource {
 public:
  std::optional<uint64_t> AddSegment(int64_t size) override;
  void Reset() override { *this = AscendingAddresses(); }

 private:
  uint64_t next_ = uint64_t{1} << 21;
};

// Any order, but the same one for one seed. Segments are at most 4 TiB.
class RandomAddresses : public AddressSource {
 public:
  explicit RandomAddresses(uint64_t seed) : seed_(seed) {}
  std::optional<uint64_t> AddSegment(int64_t size) override;
  void Reset() override { count_ = 0; }

 private:
  uint64_t seed_;
  uint64_t count_ = 0;
};

// As the driver of an H200 was seen to do: regions of whole 32 MiB, each below
// the one before; a segment goes to the lowest hole in them that takes it.
class ChunkAddresses : public AddressSource {
 public:
  std::optional<uint64_t> AddSegment(int64_t size) override;
  std::optional<uint64_t> AddRange(int64_t size) override;
  void Remove(uint64_t address, int64_t size) override;
  void Reset() override;

 private:
  struct Hole {
    uint64_t begin;
    uint64_t end;
  };
  std::optional<uint64_t> AddRegion(int64_t size);

  uint64_t lowest_ = uint64_t{1} << 62;
  std::vector<Hole> holes_;  // by address
};

// `name` is descending, ascending, chunks or random:SEED. kInvalidArgument for
// others.
absl::StatusOr<std::unique_ptr<AddressSource>> MakeAddressSource(
    std::string_view name);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ALLOCATOR_ADDRESS_SOURCE_H_
