#include "cuda/worker/trial/memory_fraction.h"

#include <gtest/gtest.h>

#include <random>

namespace memplan::gpu {
namespace {

// An H200 as CUDA reports it.
constexpr Bytes kTotal{150'109'880'320};

TEST(CapOfFractionTest, RoundsDown) {
  EXPECT_EQ(CapOfFraction(0.5, Bytes(3)), Bytes(1));
  EXPECT_EQ(CapOfFraction(0.0, kTotal), Bytes(0));
}

TEST(FractionForCapTest, GivesTheExactCap) {
  for (const Bytes cap : {Bytes(0), Bytes(1), Bytes(511), MiB(2), GiB(8),
                          GiB(16), GiB(80), Bytes(kTotal.count() - 1)}) {
    EXPECT_EQ(CapOfFraction(FractionForCap(cap, kTotal), kTotal), cap);
  }
}

TEST(FractionForCapTest, GivesTheExactCapOnAnyDevice) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const Bytes total(1 + static_cast<int64_t>(random() % (int64_t{1} << 40)));
    const Bytes cap(static_cast<int64_t>(random()) & INT64_MAX);
    const Bytes below(cap.count() % total.count());
    ASSERT_EQ(CapOfFraction(FractionForCap(below, total), total), below)
        << below.count() << " of " << total.count();
  }
}

TEST(FractionForCapTest, StaysBelowOneSoThatTheCapIsInForce) {
  EXPECT_LT(FractionForCap(Bytes(kTotal.count() - 1), kTotal), 1.0);
}

}  // namespace
}  // namespace memplan::gpu
