// What predictions cost: aligning recordings, making a symbolic trace,
// instantiating and replaying it, and searches over many batches.
#include <cstdint>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "planner/plan/prediction_search.h"
#include "planner/plan/shape_estimate.h"
#include "planner/trace/recordings.h"
#include "planner/trace/symbolic_trace.h"
#include "tests/support/recorded_traces.h"

namespace memplan {
namespace {

using ::memplan::testing::ReadRecorded;
using ::memplan::testing::RecordedTrace;
using ::memplan::testing::RecordedTracesIn;

// Batches 16 and 32 of a program that is trained.
struct Program {
  std::string name;
  Trace small;
  Trace large;
  int64_t reserved_at_96 = 0;

  std::vector<Recording> Recordings() const {
    return {{{{"batch", 16}}, &small}, {{{"batch", 32}}, &large}};
  }
};

Program Load(const std::string& model, const std::string& mode) {
  Program program{.name = model + "-" + mode, .small = {}, .large = {}};
  for (const RecordedTrace& recorded : RecordedTracesIn("")) {
    if (recorded.model != model || recorded.mode != mode) continue;
    if (recorded.batch == 16) program.small = ReadRecorded(recorded);
    if (recorded.batch == 32) program.large = ReadRecorded(recorded);
    if (recorded.batch == 96) {
      program.reserved_at_96 = recorded.peak_reserved_bytes;
    }
  }
  return program;
}

// The shortest stream of operators, one in the middle, the longest.
const Program& ProgramAt(int64_t index) {
  static const auto& programs = *new std::vector<Program>{
      Load("resnet50", "sgd"), Load("vit", "adam"), Load("gpt2", "adam_amp")};
  return programs[index];
}

const SymbolicTrace& SymbolicAt(int64_t index) {
  static const auto& symbolic = *[] {
    auto* made = new std::vector<SymbolicTrace>();
    for (int64_t i = 0; i < 3; ++i) {
      made->push_back(MakeSymbolicTrace(ProgramAt(i).Recordings()).value());
    }
    return made;
  }();
  return symbolic[index];
}

void SetLabel(benchmark::State& state) {
  const Program& program = ProgramAt(state.range(0));
  state.SetLabel(program.name + ", " +
                 std::to_string(program.large.events.size()) + " events");
}

void BM_AlignRecordings(benchmark::State& state) {
  const std::vector<Recording> recordings =
      ProgramAt(state.range(0)).Recordings();
  for (auto _ : state) {
    benchmark::DoNotOptimize(AlignRecordings(recordings));
  }
  SetLabel(state);
}

void BM_MakeSymbolicTrace(benchmark::State& state) {
  const std::vector<Recording> recordings =
      ProgramAt(state.range(0)).Recordings();
  for (auto _ : state) {
    benchmark::DoNotOptimize(MakeSymbolicTrace(recordings));
  }
  SetLabel(state);
}

void BM_Instantiate(benchmark::State& state) {
  Instantiator instantiator(SymbolicAt(state.range(0)));
  RequestStream stream;
  for (auto _ : state) {
    benchmark::DoNotOptimize(instantiator.Run({{"batch", 96}}, {}, stream));
  }
  SetLabel(state);
}

void BM_InstantiateAndReplay(benchmark::State& state) {
  PredictionSearch search(SymbolicAt(state.range(0)), {});
  int64_t batch = 96;  // each once, since the search knows it from then on
  for (auto _ : state) {
    benchmark::DoNotOptimize(search.Replay({}, batch++));
  }
  SetLabel(state);
}

void BM_EstimateWithInterval(benchmark::State& state) {
  ShapeEstimator estimator(SymbolicAt(state.range(0)), {});
  for (auto _ : state) {
    benchmark::DoNotOptimize(estimator.Estimate({{"batch", 96}}));
  }
  SetLabel(state);
}

AllocatorConditions CapAt96(int64_t index) {
  AllocatorConditions conditions;
  conditions.cap = Bytes(ProgramAt(index).reserved_at_96);
  return conditions;
}

// The answer, the comfortable batch, and every batch within 64 of both.
void BM_FindSafeBatch(benchmark::State& state) {
  int64_t replays = 0;
  int64_t safe = 0;
  for (auto _ : state) {
    PredictionSearch search(SymbolicAt(state.range(0)),
                            CapAt96(state.range(0)));
    const auto found = search.Find({});
    replays = found->replays;
    safe = found->safe_batch;
  }
  state.counters["replays"] = static_cast<double>(replays);
  state.counters["safe"] = static_cast<double>(safe);
  SetLabel(state);
}

// The same between two rounds of operators: from the last answer, without what is
// only told.
void BM_FindSafeBatchAgain(benchmark::State& state) {
  PredictionOptions options;
  options.start = 96;
  options.only_safe = true;
  int64_t replays = 0;
  for (auto _ : state) {
    PredictionSearch search(SymbolicAt(state.range(0)),
                            CapAt96(state.range(0)));
    replays = search.Find(options)->replays;
  }
  state.counters["replays"] = static_cast<double>(replays);
  SetLabel(state);
}

// Every batch from 1 to 1024, with room for all of them.
void BM_ScanTo1024(benchmark::State& state) {
  PredictionOptions options;
  for (auto _ : state) {
    PredictionSearch search(SymbolicAt(state.range(0)), {});
    for (int64_t batch = 1; batch <= 1024; ++batch) {
      benchmark::DoNotOptimize(search.Replay(options, batch));
    }
  }
  SetLabel(state);
}

BENCHMARK(BM_AlignRecordings)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_MakeSymbolicTrace)
    ->DenseRange(0, 2)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Instantiate)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_InstantiateAndReplay)
    ->DenseRange(0, 2)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_EstimateWithInterval)
    ->DenseRange(0, 2)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_FindSafeBatch)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_FindSafeBatchAgain)
    ->DenseRange(0, 2)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ScanTo1024)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace memplan
