// What the tests can see: each small change to a rule of the slow allocator must
// show in a recorded trace, or at least in a random program. The table that is
// printed says which see it.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/allocator/recorded_addresses.h"
#include "tests/planner/allocator/program.h"
#include "tests/planner/allocator/sample_conditions.h"
#include "tests/planner/allocator/slow_allocator.h"
#include "tests/support/recorded_traces.h"

namespace memplan {
namespace {

using ::memplan::testing::AllRecordedTraces;
using ::memplan::testing::Collection;
using ::memplan::testing::ConditionsOf;
using ::memplan::testing::FirstDifference;
using ::memplan::testing::Program;
using ::memplan::testing::RandomProgram;
using ::memplan::testing::ReadProgram;
using ::memplan::testing::ReadRecorded;
using ::memplan::testing::RecordedTrace;
using ::memplan::testing::SlowAllocator;
using ::memplan::testing::SlowRules;

constexpr int64_t kMiB = int64_t{1} << 20;

struct Mutation {
  const char* what;
  std::function<void(SlowRules&)> change;
};

const std::vector<Mutation>& Mutations() {
  static const std::vector<Mutation> mutations = {
      {"blocks are whole 256 bytes", [](auto& r) { r.unit = 256; }},
      {"blocks are whole 1024 bytes", [](auto& r) { r.unit = 1024; }},
      {"1 MiB is large", [](auto& r) { r.small_limit = kMiB - 1; }},
      {"up to 1 MiB + 512 is small",
       [](auto& r) { r.small_limit = kMiB + 512; }},
      {"up to 2 MiB is small", [](auto& r) { r.small_limit = 2 * kMiB; }},
      {"small segments of 4 MiB", [](auto& r) { r.small_segment = 4 * kMiB; }},
      {"large segments 2 MiB smaller",
       [](auto& r) { r.large_segment_change = -2 * kMiB; }},
      {"large segments 12 MiB larger",
       [](auto& r) { r.large_segment_change = 12 * kMiB; }},
      {"10 MiB shares a segment",
       [](auto& r) { r.direct_limit = 10 * kMiB + 1; }},
      {"own segments from 12 MiB", [](auto& r) { r.direct_limit = 12 * kMiB; }},
      {"own segments from 8 MiB", [](auto& r) { r.direct_limit = 8 * kMiB; }},
      {"own segments of whole 512 bytes", [](auto& r) { r.granule = 512; }},
      {"own segments of whole 4 MiB", [](auto& r) { r.granule = 4 * kMiB; }},
      {"divisors from 2 MiB", [](auto& r) { r.first_divided_power = 21; }},
      {"no divisors below 1 MiB",
       [](auto& r) { r.small_sizes_divided = false; }},
      {"highest address first",
       [](auto& r) { r.lowest_address_first = false; }},
      {"largest block first", [](auto& r) { r.least_size_first = false; }},
      {"streams share blocks", [](auto& r) { r.streams_apart = false; }},
      {"oversize blocks serve small requests",
       [](auto& r) { r.refuses_oversize = false; }},
      {"oversize blocks serve however large",
       [](auto& r) { r.refuses_rounding = false; }},
      {"a block of max_split_size is not oversize",
       [](auto& r) { r.refuses_oversize_at_limit = false; }},
      {"rounding at its limit is not refused",
       [](auto& r) { r.refuses_rounding_at_limit = false; }},
      {"the open end is used like others",
       [](auto& r) { r.prefers_enclosed = false; }},
      {"small rests of 512 bytes are kept",
       [](auto& r) { r.small_rest = 1024; }},
      {"large rests of 1 MiB are split off",
       [](auto& r) { r.large_waste = kMiB - 1; }},
      {"large rests above 512 KiB are split off",
       [](auto& r) { r.large_waste = kMiB / 2; }},
      {"large rests above 2 MiB are split off",
       [](auto& r) { r.large_waste = 2 * kMiB; }},
      {"oversize blocks are split", [](auto& r) { r.splits_oversize = true; }},
      {"expandable blocks split like others",
       [](auto& r) { r.expandable_splits_finely = false; }},
      {"expandable oversize blocks are not split",
       [](auto& r) { r.expandable_obeys_max_split = true; }},
      {"requests take the end of a block",
       [](auto& r) { r.request_takes_front = false; }},
      {"no merge with the block before",
       [](auto& r) { r.merges_previous = false; }},
      {"no merge with the block after", [](auto& r) { r.merges_next = false; }},
      {"no garbage collection",
       [](auto& r) { r.collection = Collection::kNever; }},
      {"garbage collection below its threshold",
       [](auto& r) { r.collection = Collection::kAlways; }},
      {"one round of garbage collection",
       [](auto& r) { r.collection = Collection::kOneRound; }},
      {"a round stops at the threshold",
       [](auto& r) { r.collection = Collection::kStopsAtTarget; }},
      {"the mean age is truncated",
       [](auto& r) { r.collection_truncates_mean = true; }},
      {"small segments are collected",
       [](auto& r) { r.collection_of_both_pools = true; }},
      {"pools share their count of searches",
       [](auto& r) { r.ages_by_pool = false; }},
      {"collection after the driver refused",
       [](auto& r) { r.collects_before_driver = false; }},
      {"no release of just enough",
       [](auto& r) { r.releases_available = false; }},
      {"just enough goes on to all oversize blocks",
       [](auto& r) { r.available_stops_at_key = false; }},
      {"no release of everything", [](auto& r) { r.releases_all = false; }},
      {"the small pool is released first",
       [](auto& r) { r.releases_large_first = false; }},
      {"other streams keep their segments",
       [](auto& r) { r.releases_all_streams = false; }},
      {"the cap itself is out of reach",
       [](auto& r) { r.cap_is_inclusive = false; }},
      {"the cap counts the block, not the segment",
       [](auto& r) { r.cap_counts_segment = false; }},
      {"room begins at unmapped memory only",
       [](auto& r) { r.room_begins_before = false; }},
      {"small pages of 4 MiB", [](auto& r) { r.small_page = 4 * kMiB; }},
      {"large pages of 2 MiB",
       [](auto& r) { r.large_page_change = -18 * kMiB; }},
      {"pages count from address 0",
       [](auto& r) { r.pages_from_range = false; }},
      {"only whole blocks are unmapped",
       [](auto& r) { r.unmaps_parts = false; }},
      {"empty ranges stay", [](auto& r) { r.removes_ranges = false; }},
      {"whole segments are mapped",
       [](auto& r) { r.maps_what_is_needed = false; }},
  };
  return mutations;
}

struct Loaded {
  RecordedTrace recorded;
  Trace trace;
};

bool IsSegmentEvent(EventKind kind) {
  return kind == EventKind::kSegmentAlloc || kind == EventKind::kSegmentFree ||
         kind == EventKind::kSegmentMap || kind == EventKind::kSegmentUnmap;
}

// Compares segment events with the recorded ones as they come.
class SegmentCheck : public SegmentListener {
 public:
  explicit SegmentCheck(const Trace& trace) : trace_(trace) {}

  void OnSegment(EventKind kind, uint64_t address, int64_t size,
                 uint32_t /*event*/) override {
    SkipOthers();
    if (next_ == trace_.events.size()) {
      differs_ = true;
      return;
    }
    const TraceEvent& event = trace_.events[next_++];
    differs_ = differs_ || event.kind != kind || event.address != address ||
               event.bytes != size;
  }
  // Once all is replayed.
  bool Differs() {
    SkipOthers();
    return differs_ || next_ != trace_.events.size();
  }

 private:
  void SkipOthers() {
    while (next_ < trace_.events.size() &&
           !IsSegmentEvent(trace_.events[next_].kind)) {
      ++next_;
    }
  }

  const Trace& trace_;
  size_t next_ = 0;
  bool differs_ = false;
};

// Whether the slow allocator under `rules` does anything but what was recorded.
bool Differs(const Loaded& loaded, const SlowRules& rules) {
  const Trace& trace = loaded.trace;
  RecordedAddresses addresses(trace);
  SlowAllocator allocator(ConditionsOf(loaded.recorded), addresses,
                          trace.streams, rules);
  SegmentCheck segments(trace);
  allocator.set_listener(&segments);
  for (const TraceEvent& event : trace.events) {
    switch (event.kind) {
      case EventKind::kAlloc:
        if (allocator.Malloc(event.bytes, event.stream) != event.address) {
          return true;
        }
        break;
      case EventKind::kFailedRequest:
        if (allocator.Malloc(event.bytes, event.stream)) return true;
        break;
      case EventKind::kFree:
        allocator.Free(event.address);
        break;
      case EventKind::kEmptyCache:
        allocator.EmptyCache();
        break;
      default:
        break;
    }
  }
  const RecordedTrace& recorded = loaded.recorded;
  return segments.Differs() ||
         allocator.peak_requested() != recorded.peak_requested_bytes ||
         allocator.peak_allocated() != recorded.peak_allocated_bytes ||
         allocator.peak_reserved() != recorded.peak_reserved_bytes;
}

// A changed rule may leave the allocator without a block that it wants.
bool DiffersOrBreaks(const std::function<bool()>& differs) {
  try {
    return differs();
  } catch (const std::exception&) {
    return true;
  }
}

class MutationTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (const RecordedTrace& recorded : AllRecordedTraces()) {
      traces().push_back({recorded, ReadRecorded(recorded)});
    }
    for (uint64_t seed = 0; seed < 1500; ++seed) {
      programs().push_back(
          ReadProgram(RandomProgram(seed, seed % 5 == 0 ? 400 : 80)));
    }
  }
  static std::vector<Loaded>& traces() {
    static std::vector<Loaded> traces;
    return traces;
  }
  static std::vector<Program>& programs() {
    static std::vector<Program> programs;
    return programs;
  }

  static std::optional<std::string> SeeingTrace(const SlowRules& rules) {
    // Those under special conditions see most.
    for (auto loaded = traces().rbegin(); loaded != traces().rend(); ++loaded) {
      if (DiffersOrBreaks([&] { return Differs(*loaded, rules); })) {
        return loaded->recorded.file;
      }
    }
    return std::nullopt;
  }
  static std::optional<size_t> SeeingProgram(const SlowRules& rules) {
    for (size_t i = 0; i < programs().size(); ++i) {
      if (DiffersOrBreaks([&] {
            return FirstDifference(programs()[i], rules).has_value();
          })) {
        return i;
      }
    }
    return std::nullopt;
  }
};

TEST_F(MutationTest, TrueRulesAreNotSeen) {
  EXPECT_EQ(SeeingTrace(SlowRules()), std::nullopt);
  EXPECT_EQ(SeeingProgram(SlowRules()), std::nullopt);
}

TEST_F(MutationTest, EveryChangeOfARuleIsSeen) {
  int by_traces = 0;
  for (const Mutation& mutation : Mutations()) {
    SlowRules rules;
    mutation.change(rules);
    const auto trace = SeeingTrace(rules);
    const auto program = SeeingProgram(rules);
    std::printf("%-46s %-44s %s\n", mutation.what, trace.value_or("-").c_str(),
                program ? std::to_string(*program).c_str() : "-");
    by_traces += trace.has_value() ? 1 : 0;
    EXPECT_TRUE(trace.has_value() || program.has_value()) << mutation.what;
  }
  std::printf("%zu changes, %d seen by traces\n", Mutations().size(),
              by_traces);
}

}  // namespace
}  // namespace memplan
