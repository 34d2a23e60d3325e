// What a probe does when others move its device's memory.
#include "server/jobs/moved_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/devices/context_reading.h"
#include "server/jobs/probe_execution.h"
#include "tests/server/core/fake_trial_runner.h"

namespace memplan {
namespace {

using ::memplan::testing::FakeTrialRunner;
using ::memplan::testing::TrialThat;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Trial OutOfMemory() { return TrialThat(TrialOutcome::kOutOfMemory, "full"); }

TEST(MayBeTheirsTest, ASmallMoveIsNone) {
  const RoomAround little = {GiB(8), GiB(8) - MiB(63)};
  const RoomAround much = {GiB(8), GiB(8) - MiB(64)};
  const RoomAround given_back = {GiB(8) - MiB(64), GiB(8)};
  EXPECT_FALSE(MayBeTheirs(OutOfMemory(), little, std::nullopt));
  EXPECT_TRUE(MayBeTheirs(OutOfMemory(), much, std::nullopt));
  EXPECT_TRUE(MayBeTheirs(OutOfMemory(), given_back, std::nullopt));
}

TEST(MayBeTheirsTest, ACapThatHadItsRoomRanOutByItself) {
  const RoomAround room = {GiB(80), GiB(10)};
  EXPECT_FALSE(MayBeTheirs(OutOfMemory(), room, GiB(10)));
  EXPECT_TRUE(MayBeTheirs(OutOfMemory(), room, GiB(10) + Bytes(1)));
}

TEST(DependsOnOthersTest, SoDoesAContextTakenFromTheDevicesGrowth) {
  Trial fits = TrialThat(TrialOutcome::kFits);
  EXPECT_FALSE(DependsOnOthers(fits));
  fits.context_source = kContextFromProcess;
  EXPECT_FALSE(DependsOnOthers(fits));
  fits.context_source = kContextFromDevice;
  EXPECT_TRUE(DependsOnOthers(fits));
  EXPECT_TRUE(MayBeTheirs(fits, {GiB(80), GiB(70)}, GiB(1)));
}

TEST(TellMovedTest, KeepsTheLargerContext) {
  Trial first = TrialThat(TrialOutcome::kFits);
  first.context = MiB(900);
  Trial second = TrialThat(TrialOutcome::kFits);
  second.context = MiB(500);
  TellMoved({GiB(8), GiB(9)}, "GPU-1", first, second);
  EXPECT_EQ(second.context, MiB(900));
  EXPECT_EQ(second.message, "");
}

// A search on a GPU of which others leave `room_`, 8 GiB at first, and on which
// batches up to 5 fit, unless less than 8 GiB are left.
class MovedMemoryTest : public ::testing::Test {
 protected:
  ProbeEnding Search() {
    ProbeSpec spec;
    spec.device_id = "GPU-1";
    spec.task = SearchOptions{2, 100, 1};
    FakeTrialRunner runner([this](const TrialOrder& order) {
      if (const auto next = moves_.find(++runs_); next != moves_.end()) {
        room_ = next->second;
      }
      return FakeTrialRunner::FitsUpTo(room_ < GiB(8) ? 0 : 5)(order);
    });
    const ProbeEnding ending = ExecuteProbe(
        spec,
        {.runner = runner,
         .cancel = cancel_,
         .model_path = "",
         .trace_path = [](int) { return std::string(); },
         .on_progress = [](const ProbeProgress&) {},
         .on_trial = [this](const Trial& trial,
                            const std::string&) { kept_.push_back(trial); },
         .may_go_on = [this] { return runs_ < stop_after_; },
         .room = [this](OwnWorkers) { return std::optional(room_); }});
    batches_ = runner.batches();
    return ending;
  }

  std::map<int, Bytes> moves_;  // what is left from run N (from 1) on
  int stop_after_ = 1000;
  int runs_ = 0;
  Bytes room_ = GiB(8);
  CancelSignal cancel_;
  std::vector<Trial> kept_;
  std::vector<int64_t> batches_;
};

TEST_F(MovedMemoryTest, NothingIsRepeatedWhileNobodyMoves) {
  EXPECT_EQ(Search().plan->answer.safe_batch, 5);
  EXPECT_EQ(kept_.size(), batches_.size());
}

// Others take 2 GiB during the first run, and give them back during the second.
TEST_F(MovedMemoryTest, ATrialTheyMayHaveFailedIsRepeatedOnce) {
  moves_ = {{1, GiB(6)}, {2, GiB(8)}};
  EXPECT_EQ(Search().plan->answer.safe_batch, 5);
  EXPECT_THAT(std::vector(batches_.begin(), batches_.begin() + 3),
              ElementsAre(2, 2, 4));
  EXPECT_EQ(kept_.size() + 1, batches_.size());
  EXPECT_EQ(kept_[0].outcome, TrialOutcome::kFits);
}

TEST_F(MovedMemoryTest, OneTheyMovedInTwiceSaysSo) {
  moves_ = {{1, GiB(6)}, {2, GiB(4)}};
  Search();
  EXPECT_EQ(batches_[0], batches_[1]);
  EXPECT_EQ(kept_[0].outcome, TrialOutcome::kOutOfMemory);
  EXPECT_EQ(kept_[0].end_class, "neighbour-moved");
  EXPECT_THAT(kept_[0].message,
              AllOf(HasSubstr("other processes took 2.00 GiB of GPU-1 during "
                              "the trial, which left 4.00 GiB"),
                    HasSubstr("it ended with: full")));
}

// It goes on after a restart, with nothing learned from the disturbed one.
TEST_F(MovedMemoryTest, ADrainKeepsNoTrialThatIsToBeRepeated) {
  moves_ = {{1, GiB(6)}};
  stop_after_ = 1;
  EXPECT_EQ(Search().state, ProbeState::kCancelled);
  EXPECT_TRUE(kept_.empty());
}

}  // namespace
}  // namespace memplan
