#include "server/workers/worker_output.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace memplan {
namespace {

class WorkerOutputTest : public ::testing::Test {
 protected:
  // Writes as the worker does; returns how many bytes were taken.
  ssize_t Print(const std::string& text) {
    return write(output_.descriptor(), text.data(), text.size());
  }

  WorkerOutput output_ = *WorkerOutput::Create();
};

TEST_F(WorkerOutputTest, IsEmptyAtFirst) { EXPECT_EQ(output_.Tail(100), ""); }

TEST_F(WorkerOutputTest, KeepsWhatWasPrintedWithoutTheLastNewline) {
  Print("one\n");
  Print("two\n\n");
  EXPECT_EQ(output_.Tail(100), "one\ntwo");
}

TEST_F(WorkerOutputTest, BeginsWithAWholeLineWhenItIsCut) {
  Print("a long line\nthe last\n");
  EXPECT_EQ(output_.Tail(12), "the last");
}

TEST_F(WorkerOutputTest, CutsALineThatIsLongerThanAllThatIsWanted) {
  Print("0123456789");
  EXPECT_EQ(output_.Tail(4), "6789");
}

TEST_F(WorkerOutputTest, LosesWhatIsBeyondItsBound) {
  EXPECT_EQ(Print(std::string(kMaxOutputBytes, 'x')),
            static_cast<ssize_t>(kMaxOutputBytes));
  EXPECT_EQ(Print("more"), -1);
  EXPECT_EQ(output_.Tail(5), "xxxxx");
}

TEST_F(WorkerOutputTest, SurvivesAPositionThatTheWorkerMoved) {
  Print("text");
  lseek(output_.descriptor(), int64_t{1} << 40, SEEK_SET);
  EXPECT_EQ(output_.Tail(3), std::string(3, '\0'));
  EXPECT_NE(ftruncate(output_.descriptor(), 0), 0);
}

}  // namespace
}  // namespace memplan
