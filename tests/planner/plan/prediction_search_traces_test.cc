// Searches under caps between the recorded reserved peaks, among the recorded
// batches. The right answer is the largest batch that, with all smaller ones,
// gets its own trace through under the cap. A verifying run is that replay; the
// trace of one that ran is fed back.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/plan/prediction_search.h"
#include "planner/plan/stream_replay.h"
#include "planner/plan/trial.h"
#include "planner/trace/request_stream.h"
#include "tests/planner/plan/recorded_programs.h"
#include "tests/planner/plan/sample_trial.h"

namespace memplan {
namespace {

using ::memplan::testing::RecordedProgram;
using ::memplan::testing::RecordedPrograms;
using ::memplan::testing::SymbolicTraceOf;
using ::memplan::testing::TrialOf;

// A search and what it came to.
struct SearchCase {
  int64_t right = 0;
  int64_t first_answer = 0;  // by the laws alone
  int64_t answer_after_one = 0;
  int64_t answer = 0;  // at the end of the verification
  int64_t trials = 0;
  int64_t ooms = 0;
};

// A program and what is made of its traces, once for all caps.
struct ProgramTraces {
  explicit ProgramTraces(const RecordedProgram& of) : program(of) {
    for (const auto& [batch, run] : program.runs) {
      candidates.push_back(batch);
      streams[batch] = StreamOf(run.trace);
    }
  }

  const SymbolicTrace& SymbolicOf(const std::vector<int64_t>& recorded) {
    const auto found = symbolic.find(recorded);
    if (found != symbolic.end()) return found->second;
    return symbolic[recorded] = SymbolicTraceOf(program, recorded);
  }

  const RecordedProgram& program;
  std::vector<int64_t> candidates;
  std::map<int64_t, RequestStream> streams;
  std::map<std::vector<int64_t>, SymbolicTrace> symbolic;
};

// One program under one cap.
class CappedProgram {
 public:
  CappedProgram(ProgramTraces& traces, Bytes cap) : traces_(traces) {
    conditions_.cap = cap;
  }

  bool Runs(int64_t batch) const {
    ChunkAddresses addresses;
    CachingAllocator allocator(conditions_, addresses);
    return StreamReplay(allocator).Run(traces_.streams.at(batch)).Runs();
  }

  int64_t RightAnswer() const {
    int64_t right = 0;
    for (const int64_t batch : traces_.candidates) {
      if (!Runs(batch)) break;
      right = batch;
    }
    return right;
  }

  int64_t Predict(const std::vector<int64_t>& recorded) const {
    PredictionOptions options;
    options.candidates = traces_.candidates;
    PredictionSearch search(traces_.SymbolicOf(recorded), conditions_);
    return search.Find(options).value().safe_batch;
  }

  // The largest candidate up to `batch`; 0 if there is none.
  int64_t CandidateUpTo(int64_t batch) const {
    const std::vector<int64_t>& all = traces_.candidates;
    const auto above = std::upper_bound(all.begin(), all.end(), batch);
    return above == all.begin() ? 0 : *(above - 1);
  }

 private:
  ProgramTraces& traces_;
  AllocatorConditions conditions_;
};

bool Has(const std::vector<int64_t>& batches, int64_t batch) {
  return std::find(batches.begin(), batches.end(), batch) != batches.end();
}

int64_t SmallestFailing(const std::vector<Trial>& trials) {
  int64_t smallest = INT64_MAX;
  for (const Trial& trial : trials) {
    if (trial.outcome == TrialOutcome::kOutOfMemory) {
      smallest = std::min(smallest, trial.batch);
    }
  }
  return smallest;
}

SearchCase Search(const CappedProgram& program, std::vector<int64_t> recorded) {
  SearchCase result;
  result.right = program.RightAnswer();
  std::vector<Trial> trials;
  int64_t predicted = program.Predict(recorded);
  result.first_answer = predicted;
  const auto answer_now = [&] {
    const int64_t failing = SmallestFailing(trials);
    return predicted < failing ? predicted : program.CandidateUpTo(failing - 1);
  };
  for (;;) {
    const int64_t answer = answer_now();
    if (trials.size() == 1) result.answer_after_one = answer;
    const bool has_run =
        std::any_of(trials.begin(), trials.end(),
                    [&](const Trial& trial) { return trial.batch == answer; });
    if (answer == 0 || has_run) {
      if (trials.empty()) result.answer_after_one = answer;
      result.answer = answer;
      result.trials = static_cast<int64_t>(trials.size());
      return result;
    }
    const bool runs = program.Runs(answer);
    trials.push_back(
        TrialOf(answer, runs ? TrialOutcome::kFits : TrialOutcome::kOutOfMemory,
                TrialPurpose::kVerify));
    result.ooms += runs ? 0 : 1;
    if (runs && !Has(recorded, answer)) {
      recorded.push_back(answer);
      predicted = program.Predict(recorded);
    }
  }
}

// Quarters of the way from each recorded reserved peak to the next.
std::vector<Bytes> CapsOf(const RecordedProgram& program) {
  std::vector<Bytes> caps;
  int64_t before = 0;
  for (const auto& [batch, run] : program.runs) {
    const int64_t peak = run.recorded.peak_reserved_bytes;
    for (const int64_t quarters : {1, 2, 3}) {
      if (before == 0 || peak <= before) break;
      caps.emplace_back(before + (peak - before) * quarters / 4);
    }
    before = peak;
  }
  return caps;
}

// What many searches came to.
struct SearchTally {
  int64_t searches = 0;
  int64_t right_at_first = 0;
  int64_t right_after_one = 0;
  int64_t right_in_the_end = 0;
  int64_t trials = 0;
  int64_t most_trials = 0;
  int64_t ooms = 0;

  void Add(const SearchCase& one) {
    ++searches;
    right_at_first += one.first_answer == one.right;
    right_after_one += one.answer_after_one == one.right;
    right_in_the_end += one.answer == one.right;
    trials += one.trials;
    most_trials = std::max(most_trials, one.trials);
    ooms += one.ooms;
  }
};

void Print(const std::vector<int64_t>& recorded, const SearchTally& tally) {
  const auto part = [&](int64_t count) {
    return static_cast<double>(count) / static_cast<double>(tally.searches);
  };
  std::printf(
      "from %d, %d: %d searches, right at first %.1f %%, after one verifying "
      "run %.1f %%, in the end %.1f %%; %.2f runs in the mean, at most %d, "
      "%.3f out of memory\n",
      static_cast<int>(recorded[0]), static_cast<int>(recorded[1]),
      static_cast<int>(tally.searches), 100 * part(tally.right_at_first),
      100 * part(tally.right_after_one), 100 * part(tally.right_in_the_end),
      part(tally.trials), static_cast<int>(tally.most_trials),
      part(tally.ooms));
}

TEST(PredictionSearchTracesTest, FindsTheRightBatchWithOneVerifyingTrace) {
  const std::vector<int64_t> small = {8, 16};
  const std::vector<int64_t> large = {16, 32};
  SearchTally from_small;
  SearchTally from_large;
  for (const RecordedProgram& program : RecordedPrograms()) {
    ProgramTraces traces(program);
    for (const Bytes cap : CapsOf(program)) {
      const CappedProgram capped(traces, cap);
      from_small.Add(Search(capped, small));
      from_large.Add(Search(capped, large));
    }
  }
  Print(small, from_small);
  Print(large, from_large);
  for (const SearchTally& tally : {from_small, from_large}) {
    EXPECT_GE(100 * tally.right_after_one, 95 * tally.searches);
    EXPECT_LE(tally.most_trials, 3);
  }
}

// Real searches by bisection, every trial a fresh process on an H200
// (docs/measurements.md): under a cap of 16 GiB, and under a budget of as much,
// of which the context takes 762 MiB.
struct RealSearch {
  std::string program;
  Bytes cap;
  int64_t safe_batch;
};

TEST(PredictionSearchTracesTest, FindsWhatRealSearchesFound) {
  const std::vector<RealSearch> searches = {
      {"resnet50-sgd", GiB(16), 192},
      {"vit-adam", GiB(16), 110},
      {"resnet50-sgd", GiB(16) - MiB(762), 182}};
  for (const auto& [name, cap, safe_batch] : searches) {
    AllocatorConditions conditions;
    conditions.cap = cap;
    for (const RecordedProgram& program : RecordedPrograms()) {
      if (program.name != name) continue;
      const SymbolicTrace symbolic = SymbolicTraceOf(program, {16, 32});
      const auto found = PredictionSearch(symbolic, conditions).Find({});
      EXPECT_EQ(found->safe_batch, safe_batch) << name << cap.count();
    }
  }
}

}  // namespace
}  // namespace memplan
