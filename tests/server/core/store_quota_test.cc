#include "server/store/store_quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/base/reason.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

HeldFile Held(const char* name, int64_t bytes, int last_use,
              bool in_use = false) {
  return {.sha256 = name,
          .bytes = bytes,
          .last_use_time = std::chrono::system_clock::time_point(
              std::chrono::seconds(last_use)),
          .in_use = in_use};
}

// 60 bytes: the oldest is `b`, and the oldest that may go is `a`.
std::vector<HeldFile> ThreeFiles() {
  return {Held("a", 10, 2), Held("b", 20, 1, true), Held("c", 30, 3)};
}

StoreDemand Upload(int64_t bytes, int64_t disk_free_bytes = 1000) {
  return {.bytes = bytes,
          .unwritten_bytes = bytes,
          .disk_free_bytes = disk_free_bytes};
}

TEST(MakeRoomTest, NeedsNothingWithinTheBounds) {
  EXPECT_THAT(
      *MakeRoom(ThreeFiles(), Upload(40), {.max_bytes = 100, .max_models = 4}),
      IsEmpty());
  EXPECT_THAT(*MakeRoom(ThreeFiles(), Upload(1000), {}), IsEmpty());
}

TEST(MakeRoomTest, RefusesWhatPassesABound) {
  const auto bytes =
      MakeRoom(ThreeFiles(), Upload(41), {.max_bytes = 100}).status();
  EXPECT_THAT(bytes, StatusIs(absl::StatusCode::kResourceExhausted,
                              AllOf(HasSubstr("has 41 B"), HasSubstr("60 B"),
                                    HasSubstr("100 B (store_max_bytes)"))));
  EXPECT_EQ(ReasonOf(bytes), "STORE_QUOTA_EXCEEDED");
  const auto count =
      MakeRoom(ThreeFiles(), Upload(1), {.max_models = 3}).status();
  EXPECT_THAT(count.message(), HasSubstr("has 3 models and parts"));
  EXPECT_EQ(ReasonOf(count), "STORE_QUOTA_EXCEEDED");
  const auto size = MakeRoom({}, Upload(11), {.upload_max_bytes = 10}).status();
  EXPECT_EQ(ReasonOf(size), "UPLOAD_TOO_LARGE");
  EXPECT_THAT(MakeRoom({}, Upload(10), {.upload_max_bytes = 10}), IsOk());
}

TEST(MakeRoomTest, LeavesTheDiskToUploadsThatRun) {
  std::vector<HeldFile> held = ThreeFiles();
  held[1].unwritten_bytes = 15;
  EXPECT_THAT(MakeRoom(held, Upload(85, 100), {}), IsOk());
  const auto status = MakeRoom(held, Upload(86, 100), {}).status();
  EXPECT_EQ(ReasonOf(status), "STORE_FULL");
}

TEST(MakeRoomTest, TakesTheLeastRecentlyUsedThatNobodyUses) {
  const StoreRules rules = {.max_bytes = 100, .evict_models = true};
  EXPECT_THAT(*MakeRoom(ThreeFiles(), Upload(41), rules), ElementsAre("a"));
  EXPECT_THAT(*MakeRoom(ThreeFiles(), Upload(51), rules),
              ElementsAre("a", "c"));
  EXPECT_THAT(*MakeRoom(ThreeFiles(), Upload(80), rules),
              ElementsAre("a", "c"));
}

TEST(MakeRoomTest, TakesNothingIfThatIsNotEnough) {
  const StoreRules rules = {.max_bytes = 100, .evict_models = true};
  EXPECT_EQ(ReasonOf(MakeRoom(ThreeFiles(), Upload(81), rules).status()),
            "STORE_QUOTA_EXCEEDED");
}

}  // namespace
}  // namespace memplan
