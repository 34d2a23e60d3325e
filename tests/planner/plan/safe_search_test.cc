#include "planner/plan/safe_search.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Candidates up to `limit` run, but for `failing`; no candidate is asked twice.
SafeCandidates Find(const SafeSearchOptions& options, int64_t limit,
                    const std::set<int64_t>& failing = {}) {
  std::set<int64_t> asked;
  const auto found = FindSafe(options, [&](int64_t candidate) {
    EXPECT_TRUE(asked.insert(candidate).second) << candidate;
    EXPECT_GE(candidate, options.first);
    EXPECT_LE(candidate, options.last);
    return absl::StatusOr<bool>(candidate <= limit &&
                                !failing.contains(candidate));
  });
  EXPECT_THAT(found, IsOk());
  EXPECT_EQ(found->asked, static_cast<int64_t>(asked.size()));
  return *found;
}

TEST(FindSafeTest, FindsTheLastThatRuns) {
  const SafeSearchOptions options{.last = 1000, .start = 32, .reach = 4};
  for (const int64_t limit : {1, 2, 31, 32, 33, 500, 999, 1000}) {
    const SafeCandidates found = Find(options, limit);
    EXPECT_EQ(found.safe, limit);
    EXPECT_THAT(found.running_above, IsEmpty());
    EXPECT_THAT(found.holes, IsEmpty());
    EXPECT_LE(found.asked, 35);
  }
}

TEST(FindSafeTest, FindsNothingIfTheFirstFails) {
  EXPECT_EQ(Find({.last = 1000, .start = 32}, 0).safe, std::nullopt);
  EXPECT_EQ(Find({.last = 1, .start = 1}, 0).safe, std::nullopt);
  EXPECT_EQ(Find({.last = 1, .start = 1}, 1).safe, 1);
}

TEST(FindSafeTest, StopsBelowAHoleAndTellsWhatRunsAboveIt) {
  // DenseNet-121 under 16 GiB: 121 and 123 run, 122 does not.
  const SafeCandidates found =
      Find({.last = 1000, .start = 32, .reach = 8}, 123, {122});
  EXPECT_EQ(found.safe, 121);
  EXPECT_THAT(found.running_above, ElementsAre(123));
  EXPECT_THAT(found.holes, ElementsAre(122));
  EXPECT_EQ(found.checked_from, 113);
  EXPECT_EQ(found.checked_to, 129);
}

TEST(FindSafeTest, LooksAsFarBelowEachHole) {
  // Each hole is within reach of the one above.
  const SafeCandidates found =
      Find({.last = 1000, .start = 32, .reach = 10}, 120, {112, 104, 95});
  EXPECT_EQ(found.safe, 94);
  EXPECT_THAT(found.holes, ::testing::IsSupersetOf({95, 104, 112}));
}

TEST(FindSafeTest, TakesWhatLiesBeyondItsReachOnTrust) {
  const SafeCandidates found =
      Find({.last = 1000, .start = 100, .reach = 10}, 120, {50});
  EXPECT_EQ(found.safe, 120);
  EXPECT_EQ(found.checked_from, 110);
}

TEST(FindSafeTest, IsExactWhereItsReachCoversAll) {
  for (uint32_t round = 0; round < 500; ++round) {
    std::mt19937 random(round);
    std::set<int64_t> failing;
    for (int i = 0; i < 3; ++i)
      failing.insert(static_cast<int64_t>(1 + random() % 40));
    const auto limit = static_cast<int64_t>(random() % 41);
    const SafeSearchOptions options{
        .last = 40,
        .start = static_cast<int64_t>(1 + random() % 40),
        .reach = 40};
    int64_t right = 0;
    while (right < limit && !failing.contains(right + 1)) ++right;
    EXPECT_EQ(Find(options, limit, failing).safe.value_or(0), right);
  }
}

TEST(FindSafeTest, ForeseesOnlyWhatItAsksForAndAlmostAllOfIt) {
  for (const std::set<int64_t>& failing :
       {std::set<int64_t>(), {470}, {440, 470, 505}}) {
    std::set<int64_t> asked;
    std::set<int64_t> foreseen;
    const auto runs = [&](int64_t candidate) {
      asked.insert(candidate);
      return absl::StatusOr<bool>(candidate <= 500 &&
                                  !failing.contains(candidate));
    };
    const auto foresee = [&](int64_t first, int64_t last) {
      for (int64_t i = first; i <= last; ++i) foreseen.insert(i);
    };
    const SafeSearchOptions options{.last = 1000, .start = 32, .reach = 40};
    ASSERT_THAT(FindSafe(options, runs, foresee), IsOk());
    EXPECT_TRUE(std::includes(asked.begin(), asked.end(), foreseen.begin(),
                              foreseen.end()));
    // But for the way to the first place where one runs and the next fails.
    EXPECT_LE(asked.size() - foreseen.size(), 20);
  }
}

TEST(FindSafeTest, PassesErrorsOn) {
  EXPECT_THAT(
      FindSafe({.last = 9, .start = 3},
               [](int64_t) -> absl::StatusOr<bool> {
                 return absl::InvalidArgumentError("no such shape");
               }),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no such shape")));
  EXPECT_THAT(
      FindSafe({.first = 5, .last = 4},
               [](int64_t) { return absl::StatusOr<bool>(true); }),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("from 5 to 4")));
}

TEST(FindSafeTest, GivesUpWhereHolesHaveNoEnd) {
  // Every second candidate fails.
  EXPECT_THAT(FindSafe({.last = 1 << 20, .start = 1 << 19, .max_asked = 500},
                       [](int64_t candidate) {
                         return absl::StatusOr<bool>(candidate % 2 == 0);
                       }),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("after asking for 500 candidates")));
}

}  // namespace
}  // namespace memplan
