#include "planner/trace/pairing.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/trace/alignment.h"
#include "planner/trace/outline.h"
#include "tests/planner/trace/small_trace.h"

namespace memplan {
namespace {

using ::memplan::testing::SmallTrace;
using ::testing::ElementsAre;

// By block of `left`: its partner.
std::vector<uint32_t> Partners(const std::string& left_text,
                               const std::string& right_text) {
  const Trace left = SmallTrace(left_text);
  const Trace right = SmallTrace(right_text);
  PathTable paths;
  const Outline left_outline = MakeOutline(left, paths);
  const Outline right_outline = MakeOutline(right, paths);
  const Alignment alignment = Align(left_outline.paths, right_outline.paths,
                                    {.min_similarity_ratio = 0})
                                  .value();
  return PairBlocks({left, left_outline}, {right, right_outline}, alignment);
}

TEST(PairBlocksTest, PairsBlocksOfEqualLives) {
  EXPECT_THAT(Partners("M s | O 1 mm | A x 10 | A y 20 | O 1 add | D y",
                       "M s | O 1 mm | A x 20 | A y 40 | O 1 add | D y"),
              ElementsAre(0, 1));
}

TEST(PairBlocksTest, LeavesScratchAloneThatOneSideLacks) {
  EXPECT_THAT(Partners("M s | O 1 conv | A x 10 | A t 90 | D t | O 1 mm",
                       "M s | O 1 conv | A x 20 | O 1 mm"),
              ElementsAre(0, kNoId));
  EXPECT_THAT(Partners("M s | O 1 conv | A x 10 | O 1 mm",
                       "M s | O 1 conv | A t 90 | D t | A x 20 | O 1 mm"),
              ElementsAre(1));
}

TEST(PairBlocksTest, TellsEqualLivesApartByTheRatioOfSizes) {
  // Both are scratch; 90 is nearer to 100 than 7 is.
  EXPECT_THAT(Partners("M s | O 1 conv | A t 7 | D t | A u 90 | D u",
                       "M s | O 1 conv | A t 100 | D t"),
              ElementsAre(kNoId, 0));
}

TEST(PairBlocksTest, DoesNotPairAcrossOperators) {
  EXPECT_THAT(Partners("M s | O 1 a | O 2 b | A x 8 a",
                       "M s | O 1 a | O 2 b | A x 8 b"),
              ElementsAre(kNoId));
}

TEST(PairBlocksTest, PairsLongLivesThatEndElsewhere) {
  EXPECT_THAT(Partners("M s | O 1 a | A x 8 | O 1 b | D x | O 1 c",
                       "M s | O 1 a | A x 16 | O 1 b | O 1 c | D x"),
              ElementsAre(0));
}

TEST(PairBlocksTest, PairsWithinStretchesOfUnmatchedMarks) {
  // The right side has one operator more; blocks around it still find partners.
  EXPECT_THAT(
      Partners("M s | O 1 a | A x 8 | O 1 c | A z 8",
               "M s | O 1 a | A x 16 | O 1 b | A y 99 | O 1 c | A z 16"),
      ElementsAre(0, 2));
}

TEST(PairMarksTest, GivesThePartnersOfMatchedMarks) {
  Alignment alignment;
  alignment.runs = {{0, 0, 1}, {2, 1, 1}};
  Outline outline;
  outline.paths = {5, 6, 7};
  EXPECT_THAT(PairMarks(outline, alignment), ElementsAre(0, kNoId, 1));
}

}  // namespace
}  // namespace memplan
