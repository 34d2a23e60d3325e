#include "planner/trace/size_law.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/trace/shape.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Optional;

using Points = std::vector<std::vector<int64_t>>;
using Values = std::vector<int64_t>;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

std::optional<SizeLaw> Fit(const Points& points, const Values& sizes) {
  const auto fitter = SizeLawFitter::Create(points);
  EXPECT_THAT(fitter, IsOk());
  return fitter.ok() ? fitter->Fit(sizes) : std::nullopt;
}

TEST(SizeLawTest, IsConstantWhereAllSizesAreEqual) {
  EXPECT_THAT(Fit({{8}, {16}}, {400, 400}), Optional(SizeLaw{400}));
}

TEST(SizeLawTest, IsAffineThroughTwoPoints) {
  EXPECT_THAT(Fit({{8}, {16}}, {1000, 1800}), Optional(SizeLaw{200, {100}}));
}

TEST(SizeLawTest, MustHoldAtEveryPoint) {
  EXPECT_THAT(Fit({{8}, {16}, {32}}, {1000, 1800, 3400}),
              Optional(SizeLaw{200, {100}}));
  EXPECT_EQ(Fit({{8}, {16}, {32}}, {1000, 1800, 3401}), std::nullopt);
}

TEST(SizeLawTest, HasWholeCoefficients) {
  // 1 byte more for 8 samples.
  EXPECT_EQ(Fit({{8}, {16}}, {1000, 1001}), std::nullopt);
}

TEST(SizeLawTest, IsQuadraticOnlyIfAPointConfirmsIt) {
  // 3·b² + 2·b + 5.
  EXPECT_EQ(Fit({{1}, {2}, {4}}, {10, 21, 61}), std::nullopt);
  EXPECT_THAT(Fit({{1}, {2}, {4}, {8}}, {10, 21, 61, 213}),
              Optional(SizeLaw{5, {2}, {3}}));
}

TEST(SizeLawTest, TellsTwoDimensionsApart) {
  // 7 + 10·batch + 3·length.
  EXPECT_THAT(Fit({{1, 1}, {2, 1}, {2, 5}}, {20, 30, 42}),
              Optional(SizeLaw{7, {10, 3}}));
}

TEST(SizeLawTest, FindsAProductOfTwoDimensions) {
  // 4·batch·length, at seven points for six coefficients.
  EXPECT_THAT(Fit({{1, 1}, {2, 1}, {1, 2}, {2, 2}, {3, 1}, {1, 3}, {5, 7}},
                  {4, 8, 8, 16, 12, 12, 140}),
              Optional(SizeLaw{0, {0, 0}, {0, 4, 0}}));
}

TEST(SizeLawTest, SaysNothingOfADimensionThatNeverVaries) {
  const auto fitter = SizeLawFitter::Create({{8, 256}, {16, 256}});
  ASSERT_THAT(fitter, IsOk());
  EXPECT_TRUE(fitter->Varies(0));
  EXPECT_FALSE(fitter->Varies(1));
  EXPECT_THAT(fitter->Fit(Values{80, 160}), Optional(SizeLaw{0, {10, 0}}));
}

TEST(SizeLawTest, NeedsPointsThatTellDimensionsApart) {
  EXPECT_THAT(SizeLawFitter::Create({{8, 1}, {16, 2}}),
              StatusIs(kInvalid, HasSubstr("do not tell 2 varying")));
  EXPECT_THAT(SizeLawFitter::Create({{8}}),
              StatusIs(kInvalid, HasSubstr("record another shape")));
  EXPECT_THAT(SizeLawFitter::Create({{8}, {8}}),
              StatusIs(kInvalid, ::testing::_));
  EXPECT_THAT(SizeLawFitter::Create({{8}, {0}}),
              StatusIs(kInvalid, HasSubstr("not 0")));
}

TEST(SizeLawTest, GivesSizesAtOtherPoints) {
  const SizeLaw affine{200, {100}};
  EXPECT_EQ(affine.At(Values{96}), 9800);
  const SizeLaw quadratic{5, {2}, {3}};
  EXPECT_EQ(quadratic.At(Values{10}), 325);
  const SizeLaw shrinking{100, {-10}};
  EXPECT_EQ(shrinking.At(Values{20}), -100);
}

TEST(SizeLawTest, GivesNothingWhereABinaryWordOverflows) {
  const SizeLaw steep{0, {int64_t{1} << 60}};
  EXPECT_EQ(steep.At(Values{kMaxShapeDimension}), std::nullopt);
  const SizeLaw huge{0, {0}, {int64_t{1} << 62}};
  EXPECT_EQ(huge.At(Values{kMaxShapeDimension}), std::nullopt);
}

TEST(SizeLawTest, FitsTheLargestSizesWithoutOverflow) {
  constexpr int64_t kMost = int64_t{1} << 60;
  EXPECT_THAT(Fit({{1}, {kMaxShapeDimension}}, {kMost, kMost}),
              Optional(SizeLaw{kMost}));
  EXPECT_THAT(Fit({{1}, {2}}, {0, kMost}), Optional(SizeLaw{-kMost, {kMost}}));
}

TEST(SizeLawTest, HasAKindWithAName) {
  EXPECT_EQ(LawKindName((SizeLaw{1}).kind()), "constant");
  EXPECT_EQ(LawKindName((SizeLaw{1, {2}}).kind()), "affine");
  EXPECT_EQ(LawKindName((SizeLaw{1, {2}, {3}}).kind()), "quadratic");
}

}  // namespace
}  // namespace memplan
