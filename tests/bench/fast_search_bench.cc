// What a recorded fast probe costs the planner, without a card: the reading of
// each trace and each FastSearch::Next(), in milliseconds of the clock and of the
// processors, the least of all repeats. Prints what the search said too, so that
// two builds can be compared.
//
//   fast_search_bench [-n REPEATS] tests/traces/fast/NAME …
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/trace_file/trace_file.h"
#include "planner/base/bytes.h"
#include "planner/base/format.h"
#include "planner/plan/fast_search.h"
#include "server/base/thread_sharer.h"
#include "server/convert/recorded_trace.h"
#include "tests/support/scripted_worker/recorded_run.h"

namespace memplan::testing {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void GiveUp(std::string_view why) {
  std::cerr << "fast_search_bench: " << why << "\n";
  std::exit(1);
}

template <typename Value>
Value ValueOrGiveUp(absl::StatusOr<Value> value) {
  if (!value.ok()) GiveUp(std::string(value.status().message()));
  return *std::move(value);
}

// One folder of tests/traces/fast, unpacked.
struct RecordedProbe {
  std::string folder;
  std::optional<Bytes> cap;
  std::map<int64_t, std::string> traces;  // by batch
};

RecordedProbe Load(const std::string& folder) {
  RecordedProbe probe{.folder = folder, .cap = {}, .traces = {}};
  std::ifstream file(folder + "/answer.json");
  const auto answer = nlohmann::json::parse(file, nullptr, false);
  if (!answer.is_object()) GiveUp(folder + "/answer.json cannot be read");
  const auto& arguments = answer["arguments"];
  for (size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i] == "--cap") {
      probe.cap =
          ValueOrGiveUp(ParseBytes(arguments[i + 1].get<std::string>()));
    }
  }
  for (const auto& trial : answer["trials"]) {
    const int64_t batch = trial[0];
    probe.traces[batch] = ValueOrGiveUp(ReadTraceFile(
        absl::StrCat(folder, "/", std::to_string(batch), ".trace.xz")));
  }
  return probe;
}

std::string Words(const PeakRange& range) {
  return absl::StrCat(range.least.count(), "..", range.most.count());
}

std::string Words(const PredictedBatch& at) {
  const StreamOutcome& outcome = at.outcome;
  const AllocatorPeaks& peaks = outcome.peaks;
  std::string words = absl::StrCat(
      at.batch, "/", static_cast<int>(at.knowledge), " failed ",
      outcome.failed_request.has_value() ? int64_t{*outcome.failed_request}
                                         : -1,
      outcome.ended_in_convolution ? " in convolution" : "",
      outcome.ended_in_scratch ? " in scratch" : "", " refused ",
      outcome.refused_plans, " caught ", outcome.caught_failures);
  absl::StrAppend(&words, " retries ", outcome.retries, " ",
                  outcome.segments_freed, " steady ", outcome.steady_retries,
                  " ", outcome.steady_segments_freed);
  for (const Peak& peak :
       {peaks.requested, peaks.allocated, peaks.active, peaks.reserved}) {
    absl::StrAppend(&words, " ", peak.bytes.count(), "@", peak.event);
  }
  return absl::StrCat(words, " ", peaks.reserved_at_peak_allocated.count(), " ",
                      peaks.allocated_at_peak_reserved.count());
}

std::string Words(const PredictedAnswer& answer) {
  std::string words = absl::StrCat(
      "  safe ", Words(answer.safe), "\n  comfortable ",
      Words(answer.comfortable), "\n  failing ", Words(answer.failing), "\n");
  if (answer.safe_interval.has_value()) {
    absl::StrAppend(&words, "  within ", Words(answer.safe_interval->allocated),
                    " ", Words(answer.safe_interval->reserved), "\n");
  }
  for (const PredictedBatch& above : answer.running_above) {
    absl::StrAppend(&words, "  above ", Words(above), "\n");
  }
  absl::StrAppend(&words, "  checked ", answer.checked_from, "..",
                  answer.checked_to, ", calls ", answer.irregular_calls, " ",
                  answer.distinct_calls, ", replays ", answer.replays, "\n");
  return words;
}

Trial TrialOf(int64_t batch) {
  Trial trial;
  trial.batch = batch;
  return trial;
}

struct Stage {
  std::string what;
  double clock = 0;  // milliseconds
  double processors = 0;
};

// One probe played from its beginning to its end.
class Play {
 public:
  explicit Play(const RecordedProbe& probe)
      : probe_(probe), search_(OptionsWith(sharer_)) {
    search_.SetCap(probe.cap);
  }

  void Run() {
    while (!is_over_) {
      std::optional<FastDecision> next;
      Time("next", [&] { next = search_.Next(); });
      said_ += stages_.back().what + "\n";
      if (search_.predicted()) said_ += Words(*search_.predicted());
      std::visit([this](const auto& decision) { Do(decision); }, *next);
    }
  }

  const std::vector<Stage>& stages() const { return stages_; }
  const std::string& said() const { return said_; }

 private:
  static FastSearchOptions OptionsWith(const WorkSharer& sharer) {
    FastSearchOptions options;
    options.sharer = &sharer;
    return options;
  }

  template <typename Function>
  void Time(std::string_view what, Function&& function) {
    const Clock::time_point begun = Clock::now();
    const std::clock_t processors = std::clock();
    function();
    const std::chrono::duration<double, std::milli> took = Clock::now() - begun;
    stages_.push_back({std::string(what), took.count(),
                       1000.0 * static_cast<double>(std::clock() - processors) /
                           CLOCKS_PER_SEC});
  }

  std::optional<Trace> TraceOf(int64_t batch) {
    const auto bytes = probe_.traces.find(batch);
    if (bytes == probe_.traces.end()) GiveUp("a batch that was not recorded");
    std::optional<Trace> trace;
    Time(absl::StrCat("read ", batch),
         [&] { trace = ValueOrGiveUp(ReadRecordedTrace(bytes->second)); });
    return trace;
  }

  void Do(const RecordBatch& record) {
    stages_.back().what = absl::StrCat("next: record ", record.batch);
    search_.AddRecording(TrialOf(record.batch), TraceOf(record.batch));
  }
  void Do(const RunBatch& run) {
    stages_.back().what = absl::StrCat("next: verify ", run.batch);
    search_.AddVerification(TrialOf(run.batch), TraceOf(run.batch));
  }
  void Do(const RunCallsAt& order) {
    stages_.back().what = absl::StrCat("next: ", order.calls.size(),
                                       " operators of ", order.batch);
    const gpu::CallsReport report = RecordedResults(
        probe_.folder, {.calls = order.calls, .cap = probe_.cap});
    std::vector<CallPlansOrNone> plans;
    plans.reserve(report.results.size());
    for (const gpu::CallResult& result : report.results) {
      plans.push_back(result.plans);
    }
    if (!search_.AddCalls(order, std::move(plans)).ok()) GiveUp("calls differ");
  }
  void Do(const SearchAnswer& answer) {
    stages_.back().what = absl::StrCat("next: answer ", answer.safe_batch);
    is_over_ = true;
  }
  void Do(const FallBack& fall_back) { GiveUp(fall_back.reason); }

  const RecordedProbe& probe_;
  const ThreadSharer sharer_;  // as in the daemon
  FastSearch search_;
  bool is_over_ = false;
  std::vector<Stage> stages_;
  std::string said_;
};

void Tell(double clock, double processors, std::string_view what) {
  std::cerr << absl::StrFormat("%8.2f ms, %8.2f of processors  %s\n", clock,
                               processors, std::string(what));
}

void Measure(const RecordedProbe& probe, int repeats) {
  std::vector<Stage> least;
  std::string said;
  for (int i = 0; i < repeats; ++i) {
    Play play(probe);
    play.Run();
    if (least.empty()) least = play.stages();
    for (size_t stage = 0; stage < least.size(); ++stage) {
      const auto& [what, clock, processors] = play.stages()[stage];
      least[stage].clock = std::min(least[stage].clock, clock);
      least[stage].processors = std::min(least[stage].processors, processors);
    }
    said = play.said();
  }
  std::cout << probe.folder << "\n" << said;
  Stage nexts{.what = absl::StrCat("all next of ", probe.folder)};
  Stage readings{.what = "all readings"};
  for (const auto& [what, clock, processors] : least) {
    Tell(clock, processors, what);
    Stage& sum = what.starts_with("next") ? nexts : readings;
    sum.clock += clock;
    sum.processors += processors;
  }
  Tell(readings.clock, readings.processors, readings.what);
  Tell(nexts.clock, nexts.processors, nexts.what);
}

int Main(int argc, char** argv) {
  int repeats = 10;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "-n" && i + 1 < argc) {
      if (!absl::SimpleAtoi(argv[++i], &repeats) || repeats < 1) {
        GiveUp("-n takes a number from 1 on");
      }
      continue;
    }
    Measure(Load(argv[i]), repeats);
  }
  return 0;
}

}  // namespace
}  // namespace memplan::testing

int main(int argc, char** argv) { return memplan::testing::Main(argc, argv); }
