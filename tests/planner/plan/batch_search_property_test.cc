// What an answer means, checked against random tables of outcomes: with and
// without holes, with batches that do not behave alike twice, with every kind of
// failure. The definition is written here once more, over the trials alone.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "planner/plan/batch_search.h"
#include "planner/plan/trial.h"
#include "tests/planner/plan/outcome_table.h"
#include "tests/planner/plan/sample_trial.h"

namespace memplan {
namespace {

using ::memplan::testing::Ended;
using ::memplan::testing::OutcomeTable;
using ::memplan::testing::RunSearch;
using ::memplan::testing::SearchRun;

constexpr int kTables = 4000;
// A forgiven death, a run, the repeats, a failure.
constexpr int kMostTrialsOfABatch = 3;

// A table drawn once: what batch `batch` does the nth time is always the same.
enum class Kind { kMonotone, kHoles, kUnsteady, kAnyFailure };

struct World {
  Kind kind = Kind::kMonotone;
  int64_t limit = 0;        // for kMonotone
  int percent_running = 0;  // for the others
  uint64_t seed = 0;
};

// Steele, Lea and Flood's SplitMix64, a step for each argument.
uint64_t Hash(uint64_t seed, int64_t batch, int nth) {
  uint64_t hash = seed;
  for (uint64_t part :
       {static_cast<uint64_t>(batch), static_cast<uint64_t>(nth)}) {
    hash += part + 0x9e3779b97f4a7c15;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
    hash ^= hash >> 31;
  }
  return hash;
}

OutcomeTable TableOf(const World& world) {
  return [world](const RunBatch& order, int nth) {
    if (world.kind == Kind::kMonotone) {
      return Ended(order.batch <= world.limit ? TrialOutcome::kFits
                                              : TrialOutcome::kOutOfMemory);
    }
    const bool steady = world.kind == Kind::kHoles;
    const uint64_t drawn = Hash(world.seed, order.batch, steady ? 0 : nth);
    if (drawn % 100 < static_cast<uint64_t>(world.percent_running)) {
      return Ended(TrialOutcome::kFits);
    }
    constexpr TrialOutcome kFailures[] = {
        TrialOutcome::kOutOfMemory, TrialOutcome::kShapeRefused,
        TrialOutcome::kModelFailed, TrialOutcome::kTimedOut,
        TrialOutcome::kWorkerDied};
    const bool any = world.kind == Kind::kAnyFailure;
    return Ended(any ? kFailures[drawn / 100 % 5] : TrialOutcome::kOutOfMemory);
  };
}

// What a batch's trials mean, counted the plain way.
struct Tally {
  int runs = 0;
  int failures = 0;  // deaths excepted
  int deaths = 0;
  int model_failures = 0;
  int trials = 0;
  bool Failed() const { return failures > 0 || deaths > 1; }
  bool Runs() const { return runs > 0 && !Failed(); }
};

std::map<int64_t, Tally> TalliesOf(const std::vector<Trial>& trials) {
  std::map<int64_t, Tally> tallies;
  for (const Trial& trial : trials) {
    Tally& tally = tallies[trial.batch];
    ++tally.trials;
    if (trial.outcome == TrialOutcome::kFits) {
      ++tally.runs;
    } else if (trial.outcome == TrialOutcome::kWorkerDied) {
      ++tally.deaths;
    } else {
      ++tally.failures;
    }
    tally.model_failures += trial.outcome == TrialOutcome::kModelFailed ? 1 : 0;
  }
  return tallies;
}

void CheckFound(const SearchOptions& options, const SearchRun& run) {
  std::map<int64_t, Tally> tallies = TalliesOf(run.trials);
  const int64_t safe = run.answer.safe_batch;
  // A batch of 1 that the model refuses says nothing of others.
  const bool leaves_out_1 =
      tallies[1].Failed() && tallies[1].model_failures > 0;
  if (leaves_out_1) tallies.erase(1);
  const int64_t least = leaves_out_1 ? 2 : 1;
  EXPECT_GE(safe, least);
  EXPECT_EQ(tallies[safe].runs, 1 + options.repeat);
  EXPECT_EQ(run.answer.verifying_trials, options.repeat);
  for (int64_t batch = std::max(safe - 2, least); batch <= safe; ++batch) {
    EXPECT_TRUE(tallies[batch].Runs()) << batch;
  }
  for (const auto& [batch, tally] : tallies) {
    EXPECT_FALSE(batch <= safe && tally.Failed()) << batch;
  }
  if (run.answer.limit == SearchLimit::kMaxBatch) {
    EXPECT_EQ(safe, options.max_batch);
    return;
  }
  EXPECT_LT(safe, options.max_batch);
  EXPECT_TRUE(tallies[safe + 1].Failed());
  EXPECT_EQ(run.answer.message.empty(),
            run.answer.limit == SearchLimit::kMemory && !leaves_out_1);
  std::vector<int64_t> unsafe;
  for (const auto& [batch, tally] : tallies) {
    if (batch > safe && tally.Runs()) unsafe.push_back(batch);
  }
  EXPECT_EQ(run.answer.unsafe_running_batches, unsafe);
}

void CheckFixed(const SearchOptions& options, const SearchRun& run) {
  bool refused = false;
  for (const Trial& trial : run.trials) {
    refused |= trial.outcome == TrialOutcome::kShapeRefused;
  }
  EXPECT_TRUE(refused);
  for (const auto& [batch, tally] : TalliesOf(run.trials)) {
    EXPECT_EQ(tally.runs,
              batch == run.answer.safe_batch ? 1 + options.repeat : 0);
  }
}

void CheckNone(const SearchRun& run) {
  EXPECT_EQ(run.answer.safe_batch, 0);
  EXPECT_FALSE(run.answer.message.empty());
  const bool out_of_memory = run.answer.limit == SearchLimit::kMemory;
  EXPECT_EQ(run.answer.end == SearchEnd::kDoesNotFit, out_of_memory);
}

// A batch at or above one that failed for another reason than memory is not
// tried, but for the repeats of a batch that is baked in, and above a batch of 1
// that the model refuses.
void CheckWalls(const std::vector<Trial>& trials) {
  int64_t wall = INT64_MAX;
  std::map<int64_t, int> deaths;
  for (const Trial& trial : trials) {
    EXPECT_TRUE(trial.batch < wall || trial.purpose == TrialPurpose::kVerify)
        << trial.batch << " was tried above " << wall;
    const bool second_death =
        trial.outcome == TrialOutcome::kWorkerDied && ++deaths[trial.batch] > 1;
    const bool refused =
        trial.outcome == TrialOutcome::kModelFailed && trial.batch > 1;
    if (refused || trial.outcome == TrialOutcome::kTimedOut || second_death) {
      wall = std::min(wall, trial.batch);
    }
  }
}

void Check(const World& world, const SearchOptions& options) {
  const SearchRun run = RunSearch(options, TableOf(world), kMaxSearchTrials);
  ASSERT_TRUE(run.ended);
  CheckWalls(run.trials);
  for (const auto& [batch, tally] : TalliesOf(run.trials)) {
    EXPECT_GE(batch, 1);
    EXPECT_LE(batch, options.max_batch);
    EXPECT_LE(tally.trials, options.repeat + kMostTrialsOfABatch) << batch;
  }
  switch (run.answer.end) {
    case SearchEnd::kFound:
      return CheckFound(options, run);
    case SearchEnd::kFixedBatch:
      return CheckFixed(options, run);
    case SearchEnd::kDoesNotFit:
    case SearchEnd::kFailed:
      return CheckNone(run);
  }
}

class BatchSearchPropertyTest : public ::testing::TestWithParam<Kind> {};

TEST_P(BatchSearchPropertyTest, AnswersMeanWhatTheySay) {
  for (int i = 0; i < kTables; ++i) {
    std::mt19937_64 random(static_cast<uint64_t>(i));
    const int64_t largest[] = {3, 20, 1000, 65536, int64_t{1} << 31};
    SearchOptions options;
    options.max_batch =
        1 +
        static_cast<int64_t>(random() % static_cast<uint64_t>(largest[i % 5]));
    options.first_batch =
        1 + static_cast<int64_t>(random() %
                                 static_cast<uint64_t>(options.max_batch));
    options.repeat = 1 + static_cast<int>(random() % 3);
    World world;
    world.kind = GetParam();
    world.limit = static_cast<int64_t>(
        random() % static_cast<uint64_t>(options.max_batch + 5));
    world.percent_running = static_cast<int>(random() % 101);
    world.seed = random();
    SCOPED_TRACE("table " + std::to_string(i));
    Check(world, options);
    if (HasFailure()) return;  // one counterexample is enough
  }
}

TEST_P(BatchSearchPropertyTest, DecidesAlikeFromEveryBeginningOfItsTrials) {
  // A daemon that restarts asks again with the trials it has kept.
  World world;
  world.kind = GetParam();
  world.limit = 37;
  world.percent_running = 70;
  world.seed = 5;
  const SearchRun whole = RunSearch({}, TableOf(world), kMaxSearchTrials);
  for (size_t kept = 0; kept <= whole.trials.size(); ++kept) {
    const std::vector<Trial> beginning(
        whole.trials.begin(),
        whole.trials.begin() + static_cast<std::ptrdiff_t>(kept));
    const SearchRun resumed =
        RunSearch({}, TableOf(world), kMaxSearchTrials, beginning);
    EXPECT_EQ(resumed.trials, whole.trials);
    EXPECT_EQ(resumed.answer, whole.answer);
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, BatchSearchPropertyTest,
                         ::testing::Values(Kind::kMonotone, Kind::kHoles,
                                           Kind::kUnsteady, Kind::kAnyFailure),
                         [](const auto& test) -> std::string {
                           switch (test.param) {
                             case Kind::kMonotone:
                               return "Monotone";
                             case Kind::kHoles:
                               return "Holes";
                             case Kind::kUnsteady:
                               return "Unsteady";
                             case Kind::kAnyFailure:
                               return "AnyFailure";
                           }
                           return "";
                         });

// With nothing but a memory limit the answer is the limit, whatever the options.
TEST(BatchSearchLimitTest, IsFoundExactly) {
  for (int64_t max_batch = 1; max_batch <= 70; ++max_batch) {
    for (int64_t limit = 0; limit <= max_batch; ++limit) {
      for (int64_t first : {1, 2, 8, 70}) {
        SearchOptions options;
        options.first_batch = first;
        options.max_batch = max_batch;
        const SearchRun run =
            RunSearch(options, testing::MemoryLimitOf(limit), kMaxSearchTrials);
        ASSERT_TRUE(run.ended);
        ASSERT_EQ(run.answer.safe_batch, limit)
            << "first " << first << ", largest " << max_batch;
        ASSERT_LE(run.trials.size(), 20U);
      }
    }
  }
}

// The bound that batch_search.h states, at the largest batch there may be.
TEST(BatchSearchLimitTest, TakesNoMoreTrialsThanStated) {
  size_t most = 0;
  for (int64_t limit :
       {int64_t{1}, int64_t{2}, int64_t{12345}, (int64_t{1} << 31) - 2,
        (int64_t{1} << 31) - 1, (int64_t{1} << 30) + 1}) {
    SearchOptions options;
    options.first_batch = 1;
    options.max_batch = int64_t{1} << 31;
    const SearchRun run =
        RunSearch(options, testing::MemoryLimitOf(limit), kMaxSearchTrials);
    EXPECT_EQ(run.answer.safe_batch, limit);
    most = std::max(most, run.trials.size());
  }
  EXPECT_LE(most, 32U + 31U + 4U + 1U);
}

}  // namespace
}  // namespace memplan
