#include "server/jobs/earlier_recordings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace memplan {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class RecordingsForTest : public ::testing::Test {
 protected:
  RecordingsForTest() {
    now_.id = "now";
    now_.device_identity = "GPU-1, H200";
    now_.spec.model_sha256 = "m";
    earlier_ = now_;
    earlier_.id = "earlier";
    earlier_.worker_version = "2";
    earlier_.spec.limit.cap = GiB(3);
    earlier_.spec.trial_timeout = std::chrono::seconds(3);
    for (const int64_t batch : {8, 32, 58}) {
      Trial& trial = earlier_.trials.emplace_back();
      trial.batch = batch;
      trial.purpose =
          batch == 58 ? TrialPurpose::kVerify : TrialPurpose::kRecord;
      trial.trace_events = 7;
      trial.context = MiB(batch);
    }
  }

  std::vector<EarlierRecording> Recordings() const {
    return RecordingsFor(now_, {std::make_shared<Probe>(earlier_)},
                         [](const Probe& probe, int number) {
                           return absl::StrCat(probe.id, "/", number);
                         });
  }

  Probe now_;
  Probe earlier_;
};

TEST_F(RecordingsForTest, TakesThoseOfTheSameProgramUnderAnotherCap) {
  const auto recordings = Recordings();
  ASSERT_THAT(recordings, SizeIs(2));
  EXPECT_EQ(recordings[1].batch, 32);
  EXPECT_EQ(recordings[1].trace_path, "earlier/2");
  EXPECT_EQ(recordings[1].worker_version, "2");
  EXPECT_EQ(recordings[1].context, MiB(32));
}

TEST_F(RecordingsForTest, TakesNoneOfAnotherProgram) {
  earlier_.spec.steps = now_.spec.steps + 1;
  EXPECT_THAT(Recordings(), IsEmpty());
}

TEST_F(RecordingsForTest, TakesNoneOfAnotherLoss) {
  earlier_.spec.loss_model_sha256 = "l";
  EXPECT_THAT(Recordings(), IsEmpty());
}

TEST_F(RecordingsForTest, TakesNoneOfAnotherDevice) {
  earlier_.device_identity = "GPU-1, A100";
  EXPECT_THAT(Recordings(), IsEmpty());
}

TEST_F(RecordingsForTest, TakesNoneThatWasShortOfMemory) {
  earlier_.trials[1].load_allocation_retries = 1;
  EXPECT_THAT(Recordings(), IsEmpty());
}

TEST_F(RecordingsForTest, TakesNoneOfItself) {
  earlier_.id = now_.id;
  EXPECT_THAT(Recordings(), IsEmpty());
}

}  // namespace
}  // namespace memplan
