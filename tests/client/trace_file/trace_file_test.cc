#include "client/trace_file/trace_file.h"

#include <lzma.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOkAndHolds;
using ::memplan::testing::StatusIs;
using ::memplan::testing::TempDir;
using ::testing::HasSubstr;

std::string Packed(const std::string& text) {
  std::string packed(lzma_stream_buffer_bound(text.size()), '\0');
  size_t size = 0;
  EXPECT_EQ(
      lzma_easy_buffer_encode(
          6, LZMA_CHECK_CRC64, nullptr,
          reinterpret_cast<const uint8_t*>(text.data()), text.size(),
          reinterpret_cast<uint8_t*>(packed.data()), &size, packed.size()),
      LZMA_OK);
  packed.resize(size);
  return packed;
}

class TraceFileTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& bytes) {
    const std::string path = folder_.Path("trace");
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  TempDir folder_;
};

TEST_F(TraceFileTest, ReadsPlainText) {
  EXPECT_THAT(ReadTraceFile(Write("M\tload\n")), IsOkAndHolds("M\tload\n"));
  EXPECT_THAT(ReadTraceFile(Write("")), IsOkAndHolds(""));
}

TEST_F(TraceFileTest, UnpacksXzWhateverItsName) {
  EXPECT_THAT(ReadTraceFile(Write(Packed("M\tload\n"))),
              IsOkAndHolds("M\tload\n"));
  EXPECT_THAT(ReadTraceFile(Write(Packed(""))), IsOkAndHolds(""));
  const std::string large(1'000'000, 'x');
  EXPECT_THAT(ReadTraceFile(Write(Packed(large))), IsOkAndHolds(large));
}

TEST_F(TraceFileTest, UnpacksOneStreamAfterTheOther) {
  EXPECT_THAT(ReadTraceFile(Write(Packed("a") + Packed("b"))),
              IsOkAndHolds("ab"));
}

TEST_F(TraceFileTest, NoticesDamage) {
  const std::string packed = Packed(std::string(1000, 'x') + "y");
  EXPECT_THAT(ReadTraceFile(Write(packed.substr(0, packed.size() - 5))),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("cut off")));
  std::string flipped = packed;
  flipped[packed.size() / 2] ^= 1;
  EXPECT_THAT(ReadTraceFile(Write(flipped)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("damaged")));
  EXPECT_THAT(ReadTraceFile(Write(packed + "rest")),
              StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(TraceFileTest, StopsAtTheLimit) {
  const std::string text(100'000, 'x');
  EXPECT_THAT(ReadTraceFile(Write(text), Bytes(100'000)), IsOkAndHolds(text));
  EXPECT_THAT(ReadTraceFile(Write(Packed(text)), Bytes(100'000)),
              IsOkAndHolds(text));
  const auto refused = StatusIs(absl::StatusCode::kResourceExhausted,
                                HasSubstr("more than 97.7 KiB"));
  EXPECT_THAT(ReadTraceFile(Write(Packed(text)), Bytes(99'999)), refused);
  EXPECT_THAT(ReadTraceFile(Write(text), Bytes(99'999)),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("larger than 97.7 KiB")));
}

TEST_F(TraceFileTest, SaysWhichFileCannotBeRead) {
  EXPECT_THAT(ReadTraceFile("/nowhere/trace"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("trace /nowhere/trace: cannot open it")));
  EXPECT_THAT(ReadTraceFile(folder_.path()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("it is a folder")));
}

}  // namespace
}  // namespace memplan
