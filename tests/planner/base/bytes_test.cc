#include "planner/base/bytes.h"

#include "gtest/gtest.h"
#include "planner/base/format.h"

namespace memplan {
namespace {

TEST(BytesTest, StartsAtZero) { EXPECT_EQ(Bytes().count(), 0); }

TEST(BytesTest, AddsAndSubtracts) {
  EXPECT_EQ(Bytes(5) + Bytes(7), Bytes(12));
  EXPECT_EQ(Bytes(5) - Bytes(7), Bytes(-2));
  Bytes amount(10);
  amount += Bytes(3);
  amount -= Bytes(1);
  EXPECT_EQ(amount, Bytes(12));
}

TEST(BytesTest, IsScaledByACount) { EXPECT_EQ(Bytes(512) * 3, Bytes(1536)); }

TEST(BytesTest, IsOrderedByItsCount) {
  EXPECT_LT(Bytes(-1), Bytes(0));
  EXPECT_GT(KiB(1), Bytes(1023));
}

TEST(BytesTest, UnitsArePowersOf1024) {
  EXPECT_EQ(KiB(1).count(), 1024);
  EXPECT_EQ(MiB(2).count(), 2'097'152);
  EXPECT_EQ(GiB(3).count(), 3'221'225'472);
}

}  // namespace
}  // namespace memplan
