#include "cuda/worker/trial/memory_speed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace memplan::gpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr double kPeak = 4800;

// Answers each measurement with the next of `answers`, and notes what was read.
class ScriptedReading {
 public:
  explicit ScriptedReading(std::vector<std::vector<double>> answers)
      : answers_(std::move(answers)) {}

  absl::StatusOr<std::vector<double>> operator()(
      const std::vector<Stretch>& stretches) {
    read.push_back(stretches);
    return answers_.at(read.size() - 1);
  }

  std::vector<std::vector<Stretch>> read;

 private:
  std::vector<std::vector<double>> answers_;
};

MemorySpeed Read(const std::vector<Stretch>& segments,
                 ScriptedReading& reading) {
  return SlowestRead(segments, kPeak,
                     [&](const auto& stretches) { return reading(stretches); });
}

constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST(StretchesToReadTest, CutsLongSegmentsAndLeavesShortOnesOut) {
  EXPECT_THAT(
      StretchesToRead({{0, MiB(700)},
                       {1000 * kMiB, MiB(20)},
                       {2000 * kMiB, MiB(300)},
                       {3000 * kMiB, MiB(64)}}),
      ElementsAre(Stretch{0, MiB(256)}, Stretch{256 * kMiB, MiB(256)},
                  Stretch{512 * kMiB, MiB(188)}, Stretch{2000 * kMiB, MiB(256)},
                  Stretch{3000 * kMiB, MiB(64)}));
}

TEST(StretchesToReadTest, SpreadsThoseThatItReadsFromTheFirstToTheLast) {
  const auto chosen = StretchesToRead({{0, GiB(140)}});  // 560 stretches
  ASSERT_THAT(chosen, SizeIs(64));
  EXPECT_EQ(chosen.front().address, 0u);
  EXPECT_EQ(chosen[1].address, 8 * (256 * kMiB));
  EXPECT_EQ(chosen.back().address, 559 * (256 * kMiB));
}

TEST(SlowestReadTest, IsOfTheSlowestThatWasJudged) {
  ScriptedReading reading({{4000, 0, 3700, 3900}});
  EXPECT_EQ(Read({{0, GiB(1)}}, reading),
            (MemorySpeed{.slowest = 3700, .peak = kPeak, .absence = ""}));
  EXPECT_THAT(reading.read, SizeIs(1));
}

// A quarter of 4800 is 1200.
TEST(SlowestReadTest, ReadsAgainWhatLooksSpilled) {
  ScriptedReading disturbed({{4000, 900, 1200}, {3900}});
  EXPECT_EQ(Read({{0, MiB(768)}}, disturbed).slowest, 1200);
  EXPECT_THAT(disturbed.read.back(),
              ElementsAre(Stretch{256 * kMiB, MiB(256)}));

  ScriptedReading spilled({{4000, 20, 4000}, {25}});
  EXPECT_EQ(Read({{0, MiB(768)}}, spilled).slowest, 25);
}

TEST(SlowestReadTest, SaysWhyItIsNotMeasured) {
  ScriptedReading none(std::vector<std::vector<double>>{});
  EXPECT_EQ(Read({{0, MiB(63)}}, none).absence,
            "the trial holds no segment of 64.0 MiB or more");
  const MemorySpeed failed = SlowestRead({{0, GiB(1)}}, kPeak, [](const auto&) {
    return absl::UnavailableError("memplan was built without CUDA's compiler");
  });
  EXPECT_EQ(failed.slowest, 0);
  EXPECT_EQ(failed.absence, "memplan was built without CUDA's compiler");
  ScriptedReading too_few(std::vector<std::vector<double>>(1, {4000}));
  EXPECT_THAT(Read({{0, GiB(1)}}, too_few).absence, HasSubstr("not every"));
  EXPECT_THAT(SlowestRead({{0, GiB(1)}}, 0, std::ref(none)).absence,
              HasSubstr("does not say"));
}

}  // namespace
}  // namespace memplan::gpu
