// How fast requests and frees of recorded traces go through the allocator, and
// through the slow one of the tests, in the same run. An item is one event.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "benchmark/benchmark.h"
#include "planner/allocator/address_source.h"
#include "planner/allocator/caching_allocator.h"
#include "planner/allocator/replay.h"
#include "planner/allocator/settings.h"
#include "tests/planner/allocator/slow_allocator.h"
#include "tests/support/recorded_traces.h"

namespace memplan {
namespace {

using ::memplan::testing::ReadRecorded;
using ::memplan::testing::RecordedTrace;
using ::memplan::testing::RecordedTracesIn;
using ::memplan::testing::SlowAllocator;

constexpr std::string_view kEverySetting =
    "max_split_size_mb:128,garbage_collection_threshold:0.7,"
    "roundup_power2_divisions:[1:8,4:4,16:2,64:4,>:1]";

struct Operation {
  uint32_t block;
  int64_t bytes;  // 0: a free
};

struct Workload {
  Trace trace;
  std::vector<Operation> operations;
  int64_t peak_reserved = 0;
  size_t block_count = 0;
};

Workload Load(const RecordedTrace& recorded) {
  Workload workload;
  workload.trace = ReadRecorded(recorded);
  for (const TraceEvent& event : workload.trace.events) {
    if (event.kind == EventKind::kAlloc) {
      workload.operations.push_back({event.link, event.bytes});
    } else if (event.kind == EventKind::kFree) {
      workload.operations.push_back({event.link, 0});
    }
  }
  workload.peak_reserved = recorded.peak_reserved_bytes;
  workload.block_count = workload.trace.blocks.size();
  return workload;
}

// A convolutional net, a transformer and one with casts, each trained.
const std::vector<Workload>& Workloads() {
  static const std::vector<Workload> workloads = [] {
    std::vector<Workload> loaded;
    for (const RecordedTrace& recorded : RecordedTracesIn("")) {
      if (recorded.file == "resnet50-sgd-64.tsv.xz" ||
          recorded.file == "vit-adam-32.tsv.xz" ||
          recorded.file == "gpt2-adam_amp-32.tsv.xz") {
        loaded.push_back(Load(recorded));
      }
    }
    return loaded;
  }();
  return workloads;
}

enum Rules { kDefault, kDefaultCap, kEvery, kExpandable };

AllocatorConditions ConditionsFor(const Workload& workload, Rules rules) {
  AllocatorConditions conditions;
  if (rules == kEvery) {
    conditions.settings = ParseAllocatorSettings(kEverySetting).value();
  }
  conditions.settings.expandable_segments = rules == kExpandable;
  if (rules != kDefault) {
    conditions.cap = Bytes(workload.peak_reserved + workload.peak_reserved / 8);
  }
  return conditions;
}

void RunFast(benchmark::State& state) {
  const auto rules = static_cast<Rules>(state.range(0));
  std::vector<DescendingAddresses> addresses(Workloads().size());
  std::vector<CachingAllocator> allocators;
  std::vector<BlockId> ids;
  for (size_t i = 0; i < Workloads().size(); ++i) {
    allocators.emplace_back(ConditionsFor(Workloads()[i], rules), addresses[i]);
  }
  int64_t events = 0;
  for (auto _ : state) {
    for (size_t i = 0; i < allocators.size(); ++i) {
      CachingAllocator& allocator = allocators[i];
      allocator.Reset();
      ids.resize(Workloads()[i].block_count);
      for (const Operation& operation : Workloads()[i].operations) {
        if (operation.bytes != 0) {
          ids[operation.block] = allocator.Malloc(operation.bytes);
        } else if (ids[operation.block] != kNoBlock) {
          allocator.Free(ids[operation.block]);
        }
      }
      events += static_cast<int64_t>(Workloads()[i].operations.size());
      benchmark::DoNotOptimize(allocator.peaks());
    }
  }
  state.SetItemsProcessed(events);
}

void RunSlow(benchmark::State& state) {
  const auto rules = static_cast<Rules>(state.range(0));
  constexpr uint64_t kStreams[] = {0};
  std::vector<uint64_t> places;
  int64_t events = 0;
  for (auto _ : state) {
    for (const Workload& workload : Workloads()) {
      DescendingAddresses addresses;
      SlowAllocator allocator(ConditionsFor(workload, rules), addresses,
                              kStreams);
      places.resize(workload.block_count);
      for (const Operation& operation : workload.operations) {
        if (operation.bytes != 0) {
          places[operation.block] =
              allocator.Malloc(operation.bytes, 0).value_or(0);
        } else if (places[operation.block] != 0) {
          allocator.Free(places[operation.block]);
        }
      }
      events += static_cast<int64_t>(workload.operations.size());
      benchmark::DoNotOptimize(allocator.peak_reserved());
    }
  }
  state.SetItemsProcessed(events);
}

// With its report: phases, operators' marks passed over, peaks' events.
void ReplayWhole(benchmark::State& state) {
  int64_t events = 0;
  DescendingAddresses addresses;
  CachingAllocator allocator({}, addresses);
  TraceReplay replay(allocator);
  for (auto _ : state) {
    for (const Workload& workload : Workloads()) {
      benchmark::DoNotOptimize(replay.Run(workload.trace));
      events += static_cast<int64_t>(workload.operations.size());
    }
  }
  state.SetItemsProcessed(events);
}

BENCHMARK(RunFast)->Name("fast/default")->Arg(kDefault);
BENCHMARK(RunSlow)->Name("slow/default")->Arg(kDefault);
BENCHMARK(RunFast)->Name("fast/default_under_a_cap")->Arg(kDefaultCap);
BENCHMARK(RunSlow)->Name("slow/default_under_a_cap")->Arg(kDefaultCap);
BENCHMARK(RunFast)->Name("fast/every_setting")->Arg(kEvery);
BENCHMARK(RunSlow)->Name("slow/every_setting")->Arg(kEvery);
BENCHMARK(RunFast)->Name("fast/expandable")->Arg(kExpandable);
BENCHMARK(RunSlow)->Name("slow/expandable")->Arg(kExpandable);
BENCHMARK(ReplayWhole)->Name("fast/whole_trace");

}  // namespace
}  // namespace memplan
