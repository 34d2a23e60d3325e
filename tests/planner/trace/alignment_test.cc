#include "planner/trace/alignment.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Tokens = std::vector<uint32_t>;

constexpr AlignmentLimits kAnySimilarity{.min_similarity_ratio = 0};

// One token a letter.
Tokens TokensOf(std::string_view letters) {
  return Tokens(letters.begin(), letters.end());
}

std::vector<MatchedRun> Runs(std::string_view left, std::string_view right) {
  const auto alignment = Align(TokensOf(left), TokensOf(right), kAnySimilarity);
  EXPECT_THAT(alignment, IsOk());
  return alignment.ok() ? alignment->runs : std::vector<MatchedRun>();
}

TEST(AlignTest, MatchesEqualSequencesInOneRun) {
  EXPECT_THAT(Runs("abcd", "abcd"), ElementsAre(MatchedRun{0, 0, 4}));
}

TEST(AlignTest, StepsOverWhatOneSideLacks) {
  EXPECT_THAT(Runs("abcdef", "abxdef"),
              ElementsAre(MatchedRun{0, 0, 2}, MatchedRun{3, 3, 3}));
  EXPECT_THAT(Runs("abcd", "bcd"), ElementsAre(MatchedRun{1, 0, 3}));
  EXPECT_THAT(Runs("ab", "axxxb"),
              ElementsAre(MatchedRun{0, 0, 1}, MatchedRun{1, 4, 1}));
}

TEST(AlignTest, FindsTheLongestCommonSequence) {
  // A textbook pair: four of seven and six letters are common.
  const auto alignment =
      Align(TokensOf("abcabba"), TokensOf("cbabac"), kAnySimilarity);
  ASSERT_THAT(alignment, IsOk());
  EXPECT_NEAR(alignment->similarity_ratio, 2.0 * 4 / 13, 1e-12);
}

TEST(AlignTest, MatchesNothingWhereNothingIsAlike) {
  EXPECT_THAT(Runs("abc", "xyz"), IsEmpty());
  EXPECT_THAT(Runs("", "xyz"), IsEmpty());
  EXPECT_THAT(Runs("", ""), IsEmpty());
}

TEST(AlignTest, TakesTwoEmptySequencesForAlike) {
  const auto alignment = Align({}, {});
  ASSERT_THAT(alignment, IsOk());
  EXPECT_EQ(alignment->similarity_ratio, 1);
}

TEST(AlignTest, RefusesWhatIsTooDifferentAndSaysHowAlikeItIs) {
  // One of four letters.
  EXPECT_THAT(Align(TokensOf("abcd"), TokensOf("axyz")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("too different"),
                             HasSubstr("25.0 % is alike"))));
}

TEST(AlignTest, StopsAtTheWorkAllowed) {
  // The same hundred letters in orders that have little to do with each other.
  Tokens left;
  Tokens right;
  for (uint32_t i = 0; i < 20000; ++i) {
    left.push_back(i * i / 7 % 100);
    right.push_back(i * 37 % 101 % 100);
  }
  EXPECT_THAT(
      Align(left, right, {.max_work = 1 << 20}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is alike")));
}

// The longest common length by the quadratic table.
size_t LongestCommon(const Tokens& left, const Tokens& right) {
  std::vector<size_t> row(right.size() + 1);
  for (uint32_t token : left) {
    size_t diagonal = 0;
    for (size_t r = 0; r < right.size(); ++r) {
      const size_t above = row[r + 1];
      row[r + 1] = token == right[r] ? diagonal + 1 : std::max(above, row[r]);
      diagonal = above;
    }
  }
  return row.back();
}

TEST(AlignTest, AgreesWithTheQuadraticTableOnRandomSequences) {
  for (uint32_t round = 0; round < 3000; ++round) {
    std::mt19937 random(round);
    Tokens left(random() % 30);
    Tokens right(random() % 30);
    const uint32_t alphabet = 1 + random() % 6;
    for (uint32_t& token : left) token = random() % alphabet;
    for (uint32_t& token : right) token = random() % alphabet;
    const auto alignment = Align(left, right, kAnySimilarity);
    ASSERT_THAT(alignment, IsOk());
    size_t matched = 0;
    size_t left_end = 0;
    size_t right_end = 0;
    for (const MatchedRun& run : alignment->runs) {
      ASSERT_GE(run.left, left_end);
      ASSERT_GE(run.right, right_end);
      for (uint32_t i = 0; i < run.length; ++i) {
        ASSERT_EQ(left.at(run.left + i), right.at(run.right + i));
      }
      left_end = run.left + run.length;
      right_end = run.right + run.length;
      matched += run.length;
    }
    ASSERT_EQ(matched, LongestCommon(left, right)) << "round " << round;
  }
}

}  // namespace
}  // namespace memplan
