#include "cuda/worker/trial/traced_batch.h"

#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <vector>

namespace memplan::gpu {
namespace {

using Shapes = std::vector<std::vector<int64_t>>;

std::optional<int64_t> BatchOf(std::string_view specs, const Shapes& shapes) {
  return TracedBatch(ParseInputSpecs(specs).value(), shapes);
}

TEST(TracedBatchTest, IsTheSizeWhereTheSpecSaysB) {
  EXPECT_EQ(BatchOf("float32[B,3,8,8]", {{2, 3, 8, 8}}), 2);
  EXPECT_EQ(BatchOf("int64[16,B]", {{16, 4}}), 4);
}

TEST(TracedBatchTest, IsTakenFromTheFirstInputThatHasIt) {
  EXPECT_EQ(BatchOf("float32[5]; float32[B,5]", {{5}, {7, 5}}), 7);
}

TEST(TracedBatchTest, DividesWhereTheDimensionIsAMultiple) {
  EXPECT_EQ(BatchOf("float32[4*B,5]", {{8, 5}}), 2);
  EXPECT_EQ(BatchOf("float32[4*B,5]", {{9, 5}}), std::nullopt);
}

TEST(TracedBatchTest, IsUnsetWhereNothingSaysIt) {
  EXPECT_EQ(BatchOf("float32[B,5]", {}), std::nullopt);
  EXPECT_EQ(BatchOf("float32[5]", {{5}}), std::nullopt);
  EXPECT_EQ(BatchOf("float32[B,5]", {{2, 5, 1}}), std::nullopt);
  EXPECT_EQ(BatchOf("float32[B,5]", {{0, 5}}), std::nullopt);
  EXPECT_EQ(BatchOf("float32[B,5]", {{kMaxDimension + 1, 5}}), std::nullopt);
}

}  // namespace
}  // namespace memplan::gpu
