#include "tests/planner/allocator/program.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/allocator/address_source.h"
#include "planner/allocator/block_map.h"
#include "planner/allocator/caching_allocator.h"

namespace memplan::testing {
namespace {

constexpr size_t kHeaderBytes = 6;
constexpr size_t kStepBytes = 3;

// How blocks lie is compared after this many steps.
constexpr size_t kMapEvery = 8;

constexpr std::array<int64_t, 14> kEdges = {
    512,      1024,       1 << 20,  (1 << 20) + 512, 2 << 20,
    5 << 20,  (10 << 20), 12 << 20, 20 << 20,        21 << 20,
    32 << 20, 40 << 20,   64 << 20, 128 << 20,
};

template <size_t n>
Bytes Mebibytes(const std::array<int64_t, n>& choices, unsigned index) {
  return MiB(choices[index % n]);
}

AllocatorSettings ReadSettings(uint8_t first, uint8_t second) {
  AllocatorSettings settings;
  settings.expandable_segments = (first & 1) != 0;
  constexpr std::array<double, 4> kThresholds = {0, 0.3, 0.6, 0.9};
  settings.garbage_collection_threshold = kThresholds[(first >> 1) & 3];
  switch ((first >> 3) & 3) {
    case 1:
      settings.power2_divisions.fill(4);
      break;
    case 2:
      settings.power2_divisions = {8, 8, 4, 4, 2, 2, 1, 0, 16};
      break;
    case 3:
      settings.power2_divisions.fill(1024);
      break;
    default:
      break;
  }
  settings.large_segment_size = Mebibytes<4>({20, 20, 12, 30}, second & 3);
  settings.max_non_split_rounding = settings.large_segment_size;
  constexpr std::array<int64_t, 4> kAbove = {-1, 0, 12, 44};
  const int64_t above = kAbove[(second >> 2) & 3];
  if (above >= 0) {
    settings.max_split_size = settings.large_segment_size + MiB(above);
  }
  if ((second & 16) != 0) settings.max_non_split_rounding += MiB(10);
  return settings;
}

Step ReadStep(std::span<const uint8_t> bytes, size_t streams) {
  Step step;
  const unsigned kind = bytes[0] & 7;
  step.stream = static_cast<uint32_t>((bytes[0] >> 3) % streams);
  step.block = static_cast<size_t>(bytes[1]) << 8 | bytes[2];
  if (kind < 4) {
    const int64_t power = int64_t{1} << (bytes[1] % 27);
    step.bytes = power + power * bytes[2] / 256;
  } else if (kind == 4) {
    step.bytes = kEdges[bytes[1] % kEdges.size()] + bytes[2] % 3 - 1;
  } else if (kind < 7 && bytes[0] < 248) {
    step.instruction = Instruction::kFree;
  } else if (bytes[0] < 200) {
    step.instruction = Instruction::kRequestFree;
  } else {
    step.instruction = Instruction::kEmptyCache;
  }
  return step;
}

// Segment events as a text, for comparison.
class EventLog : public SegmentListener {
 public:
  void OnSegment(EventKind kind, uint64_t address, int64_t size,
                 uint32_t /*event*/) override {
    hash_ = (hash_ ^ static_cast<uint64_t>(kind)) * 0x9e3779b97f4a7c15u;
    hash_ = (hash_ ^ address) * 0x9e3779b97f4a7c15u;
    hash_ = (hash_ ^ static_cast<uint64_t>(size)) * 0x9e3779b97f4a7c15u;
  }
  uint64_t hash() const { return hash_; }

 private:
  uint64_t hash_ = 1;
};

// Both allocators and the blocks they have handed out.
class SideBySide {
 public:
  SideBySide(const Program& program, const SlowRules& rules,
             AddressSource& fast_addresses, AddressSource& slow_addresses)
      : fast_(program.conditions, fast_addresses),
        slow_(program.conditions, slow_addresses, program.streams, rules) {
    fast_.set_counters(&counters_);
    fast_.Reset(program.streams);
    fast_.set_listener(&fast_log_);
    slow_.set_listener(&slow_log_);
  }

  // What differs after the step.
  std::optional<std::string> Run(const Step& step) {
    std::optional<std::string> difference;
    switch (step.instruction) {
      case Instruction::kMalloc:
        difference = Malloc(step);
        break;
      case Instruction::kEmptyCache:
        fast_.EmptyCache();
        slow_.EmptyCache();
        break;
      case Instruction::kFree:
      case Instruction::kRequestFree:
        Free(step);
        break;
    }
    if (fast_.completions() != completions_) {
      completions_ = fast_.completions();
      std::erase_if(live_, [](const Live& one) { return one.is_awaited; });
    }
    return difference.has_value() ? difference : CompareTotals();
  }

  std::optional<std::string> CompareMaps() const {
    if (MapBlocks(fast_) != slow_.Map()) return "the blocks lie otherwise";
    const int64_t inactive = counters_.inactive_split_bytes.all.current;
    return Compare("inactive split bytes", inactive,
                   slow_.InactiveSplitBytes());
  }

 private:
  struct Live {
    BlockId id;
    uint64_t address;
    bool is_awaited = false;
  };

  std::optional<std::string> Malloc(const Step& step) {
    const BlockId id = fast_.Malloc(step.bytes, step.stream);
    const auto address = slow_.Malloc(step.bytes, step.stream);
    if ((id != kNoBlock) != address.has_value()) {
      return address.has_value() ? "the fast one fails" : "the slow one fails";
    }
    if (id == kNoBlock) return std::nullopt;
    live_.push_back({id, *address});
    if (fast_.blocks()[id].address != *address) return "another address";
    return std::nullopt;
  }

  void Free(const Step& step) {
    if (live_.empty()) return;
    Live& chosen = live_[step.block % live_.size()];
    if (step.instruction == Instruction::kRequestFree) {
      if (chosen.is_awaited) return;
      chosen.is_awaited = true;
      fast_.RequestFree(chosen.id);
      slow_.RequestFree(chosen.address);
      return;
    }
    fast_.Free(chosen.id);
    slow_.Free(chosen.address);
    chosen = live_.back();
    live_.pop_back();
  }

  static std::optional<std::string> Compare(const char* what, int64_t fast,
                                            int64_t slow) {
    if (fast == slow) return std::nullopt;
    return absl::StrCat(what, ": ", fast, ", slow: ", slow);
  }

  std::optional<std::string> CompareTotals() const {
    const AllocatorPeaks& peaks = fast_.peaks();
    struct Pair {
      const char* what;
      int64_t fast;
      int64_t slow;
    };
    const std::array<Pair, 14> pairs = {{
        {"requested", fast_.requested().count(), slow_.requested()},
        {"allocated", fast_.allocated().count(), slow_.allocated()},
        {"active", fast_.active().count(), slow_.active()},
        {"reserved", fast_.reserved().count(), slow_.reserved()},
        {"peak requested", peaks.requested.bytes.count(),
         slow_.peak_requested()},
        {"peak allocated", peaks.allocated.bytes.count(),
         slow_.peak_allocated()},
        {"peak active", peaks.active.bytes.count(), slow_.peak_active()},
        {"peak reserved", peaks.reserved.bytes.count(), slow_.peak_reserved()},
        {"retries", fast_.retries(), slow_.retries()},
        {"failures", fast_.ooms(), slow_.ooms()},
        {"segments freed", fast_.segments_freed(), slow_.segments_freed()},
        {"counted allocated", counters_.allocated_bytes.all.current,
         slow_.allocated()},
        {"counted reserved", counters_.reserved_bytes.all.peak,
         slow_.peak_reserved()},
        {"segment events", static_cast<int64_t>(fast_log_.hash()),
         static_cast<int64_t>(slow_log_.hash())},
    }};
    for (const Pair& pair : pairs) {
      if (auto found = Compare(pair.what, pair.fast, pair.slow)) return found;
    }
    return std::nullopt;
  }

  AllocatorCounters counters_;
  CachingAllocator fast_;
  SlowAllocator slow_;
  EventLog fast_log_;
  EventLog slow_log_;
  std::vector<Live> live_;
  int64_t completions_ = 0;
};

}  // namespace

Program ReadProgram(std::span<const uint8_t> bytes) {
  std::array<uint8_t, kHeaderBytes> header = {};
  const size_t header_size = std::min(bytes.size(), header.size());
  std::copy_n(bytes.begin(), header_size, header.begin());
  bytes = bytes.subspan(header_size);

  Program program;
  program.conditions.settings = ReadSettings(header[0], header[1]);
  if (header[2] != 0) {
    program.conditions.cap = MiB(header[2]) * 2 + Bytes(header[3] % 3 - 1);
  }
  if (header[4] >= 192) program.conditions.device_free = MiB(header[3]) * 2;
  program.conditions.device_total =
      Mebibytes<4>({131072, 64, 200, 1000}, header[4] & 3);
  constexpr std::array<const char*, 4> kOrders = {"descending", "ascending",
                                                  "chunks", "random:5"};
  program.order = kOrders[header[5] & 3];
  program.streams = {0};
  if ((header[5] & 4) != 0) program.streams = {0, 0x900, 0x300};
  for (; bytes.size() >= kStepBytes; bytes = bytes.subspan(kStepBytes)) {
    program.steps.push_back(
        ReadStep(bytes.first(kStepBytes), program.streams.size()));
  }
  return program;
}

std::vector<uint8_t> RandomProgram(uint64_t seed, size_t steps) {
  std::mt19937_64 random(seed);
  std::vector<uint8_t> bytes(kHeaderBytes + kStepBytes * steps);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  if (seed % 4 != 3) return bytes;
  bytes[0] &= 0xfe;  // not expandable
  bytes[1] = static_cast<uint8_t>((bytes[1] & 3) |
                                  4);  // max_split_size as small as it may be
  bytes[2] |= 0x40;                    // a cap of 128 MiB or more
  for (size_t i = kHeaderBytes; i < bytes.size(); i += kStepBytes) {
    const bool is_request = (bytes[i] & 7) < 4;
    if (!is_request) continue;
    bytes[i] = static_cast<uint8_t>((bytes[i] & 0xf8) | 4);
    bytes[i + 1] = static_cast<uint8_t>(8 + bytes[i + 1] % 6);  // 20 … 128 MiB
  }
  return bytes;
}

std::optional<std::string> FirstDifference(const Program& program,
                                           const SlowRules& rules) {
  const auto fast_addresses = MakeAddressSource(program.order);
  const auto slow_addresses = MakeAddressSource(program.order);
  if (!fast_addresses.ok() || !slow_addresses.ok()) return "no such order";
  SideBySide both(program, rules, **fast_addresses, **slow_addresses);
  for (size_t i = 0; i < program.steps.size(); ++i) {
    std::optional<std::string> difference = both.Run(program.steps[i]);
    const bool is_last = i + 1 == program.steps.size();
    if (!difference.has_value() && (is_last || i % kMapEvery == 0)) {
      difference = both.CompareMaps();
    }
    if (difference.has_value()) {
      return absl::StrCat("step ", i, ": ", *difference);
    }
  }
  return std::nullopt;
}

}  // namespace memplan::testing
