#include "cuda/worker/messages/frame.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace memplan::gpu {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::IsOkAndHolds;
using ::memplan::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Clock = std::chrono::steady_clock;

Clock::time_point Soon() {
  return Clock::now() + std::chrono::milliseconds(20);
}
Clock::time_point Later() { return Clock::now() + std::chrono::seconds(30); }
Clock::time_point Past() { return Clock::now() - std::chrono::seconds(1); }

// Two connected sockets: ours and the other side's.
class FrameTest : public ::testing::Test {
 protected:
  FrameTest() {
    std::array<int, 2> pair{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
      ADD_FAILURE() << "no sockets";
    }
    ours_ = pair[0];
    other_ = pair[1];
  }
  ~FrameTest() override {
    close(ours_);
    CloseOther();
  }

  void CloseOther() {
    if (other_ >= 0) close(other_);
    other_ = -1;
  }
  // The other side sends these bytes as they are.
  void OtherSends(std::string_view bytes) {
    ASSERT_EQ(write(other_, bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }

  int ours_ = -1;
  int other_ = -1;
};

TEST_F(FrameTest, ArrivesAsItWasSent) {
  ASSERT_THAT(WriteFrame(other_, "{\"type\":\"proceed\"}", Soon()), IsOk());
  EXPECT_THAT(ReadFrame(ours_, Soon()), IsOkAndHolds("{\"type\":\"proceed\"}"));
}

TEST_F(FrameTest, StartsWithItsLengthLowestByteFirst) {
  ASSERT_THAT(WriteFrame(other_, std::string(258, 'x'), Soon()), IsOk());
  std::array<char, 4> length{};
  ASSERT_EQ(read(ours_, length.data(), length.size()), 4);
  EXPECT_EQ(std::string_view(length.data(), 4),
            std::string_view("\x02\x01\0\0", 4));
}

TEST_F(FrameTest, ComesOneByOne) {
  ASSERT_THAT(WriteFrame(other_, "first", Soon()), IsOk());
  ASSERT_THAT(WriteFrame(other_, "", Soon()), IsOk());
  ASSERT_THAT(WriteFrame(other_, "third", Soon()), IsOk());
  EXPECT_THAT(ReadFrame(ours_, Soon()), IsOkAndHolds("first"));
  EXPECT_THAT(ReadFrame(ours_, Soon()), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(ReadFrame(ours_, Soon()), IsOkAndHolds("third"));
}

TEST_F(FrameTest, MayBeAsLongAsAllowedAndNoLonger) {
  const std::string longest(kMaxFrameBytes, 'x');
  std::thread writer(
      [&] { EXPECT_THAT(WriteFrame(other_, longest, Later()), IsOk()); });
  EXPECT_THAT(ReadFrame(ours_, Later()), IsOkAndHolds(longest));
  writer.join();
  EXPECT_THAT(WriteFrame(other_, longest + "x", Soon()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("1048577 bytes is longer than the 1048576")));
}

TEST_F(FrameTest, IsRefusedIfItAnnouncesTooMuch) {
  OtherSends(std::string_view("\x01\0\x10\0", 4));  // 1 MiB and one
  EXPECT_THAT(ReadFrame(ours_, Soon()),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("a frame of 1048577 bytes was announced")));
}

TEST_F(FrameTest, IsReadFromPiecesOfAnySize) {
  std::thread writer([&] {
    for (char byte : std::string_view("\x03\0\0\0abc", 7)) {
      OtherSends(std::string_view(&byte, 1));
    }
  });
  EXPECT_THAT(ReadFrame(ours_, Later()), IsOkAndHolds("abc"));
  writer.join();
}

TEST_F(FrameTest, IsAwaitedUntilTheDeadline) {
  EXPECT_THAT(ReadFrame(ours_, Soon()),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  OtherSends(std::string_view("\x03\0", 2));
  EXPECT_THAT(ReadFrame(ours_, Soon()),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(FrameTest, IsAwaitedUntilTheDeadlineEvenIfBegun) {
  OtherSends(std::string_view("\x03\0\0\0a", 5));
  EXPECT_THAT(ReadFrame(ours_, Soon()),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(FrameTest, ThatIsThereIsReadEvenAfterTheDeadline) {
  OtherSends(std::string_view("\x01\0\0\0a", 5));
  EXPECT_THAT(ReadFrame(ours_, Past()), IsOkAndHolds("a"));
}

TEST_F(FrameTest, IsUnavailableIfTheOtherSideClosedBetweenFrames) {
  ASSERT_THAT(WriteFrame(other_, "last", Soon()), IsOk());
  CloseOther();
  EXPECT_THAT(ReadFrame(ours_, Soon()), IsOkAndHolds("last"));
  EXPECT_THAT(ReadFrame(ours_, Soon()),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(FrameTest, IsLostIfTheOtherSideClosedInItsLength) {
  OtherSends(std::string_view("\x03\0", 2));
  CloseOther();
  EXPECT_THAT(ReadFrame(ours_, Soon()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("cut short")));
}

TEST_F(FrameTest, IsLostIfTheOtherSideClosedInItsText) {
  OtherSends(std::string_view("\x03\0\0\0ab", 6));
  CloseOther();
  EXPECT_THAT(ReadFrame(ours_, Soon()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("cut short")));
}

TEST_F(FrameTest, CannotBeSentToASideThatIsGone) {
  CloseOther();  // a SIGPIPE would end this program
  EXPECT_THAT(WriteFrame(ours_, "text", Soon()),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(FrameTest, CannotBeSentToASideThatDoesNotRead) {
  absl::Status status;
  const std::string text(kMaxFrameBytes, 'x');
  for (int i = 0; i < 1000 && status.ok(); ++i) {
    status = WriteFrame(ours_, text, Soon());
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(FrameTest, IsNoLongerAwaitedOnceTheWakeDescriptorIsReadable) {
  const int wake = eventfd(0, EFD_CLOEXEC);
  std::thread waker([&] {
    const uint64_t one = 1;
    EXPECT_EQ(write(wake, &one, sizeof(one)), 8);
  });
  EXPECT_THAT(ReadFrame(ours_, Later(), wake),
              StatusIs(absl::StatusCode::kCancelled));
  waker.join();
  // It stays so, whatever has come meanwhile.
  OtherSends(std::string_view("\x01\0\0\0a", 5));
  EXPECT_THAT(ReadFrame(ours_, Later(), wake),
              StatusIs(absl::StatusCode::kCancelled));
  close(wake);
}

}  // namespace
}  // namespace memplan::gpu
