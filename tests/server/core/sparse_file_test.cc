#include "server/store/sparse_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <string>

#include "server/base/descriptor.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;
using ::memplan::testing::TempDir;
using ::testing::HasSubstr;

constexpr size_t kFar = size_t{8} << 20;

// With what is written at its beginning and far behind it, and `size` bytes.
std::string SparseAt(const std::string& path, size_t size) {
  const Descriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  EXPECT_EQ(pwrite(file.get(), "names", 5, 100), 5);
  EXPECT_EQ(pwrite(file.get(), "records", 7, kFar), 7);
  EXPECT_EQ(ftruncate(file.get(), static_cast<off_t>(size)), 0);
  std::string bytes(size, '\0');
  bytes.replace(100, 5, "names");
  bytes.replace(kFar, 7, "records");
  return bytes;
}

TEST(SparseFileTest, HoldsWhatWasWrittenAndZeros) {
  TempDir temp;
  for (const size_t behind : {size_t{0}, size_t{1} << 20}) {
    const std::string path = temp.Path(std::to_string(behind));
    const std::string bytes = SparseAt(path, kFar + 7 + behind);
    const auto file = SparseFile::Read(path, 1 << 30);
    ASSERT_THAT(file, IsOk());
    EXPECT_TRUE(file->bytes() == bytes) << behind;
  }
}

TEST(SparseFileTest, HoldsAFileWithoutBytes) {
  TempDir temp;
  {
    const Descriptor made(
        open(temp.Path("a").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  }
  const auto file = SparseFile::Read(temp.Path("a"), 1 << 30);
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->bytes(), "");
}

TEST(SparseFileTest, RefusesWhatIsGoneOrTooLarge) {
  TempDir temp;
  EXPECT_THAT(SparseFile::Read(temp.Path("a"), 1 << 30),
              StatusIs(absl::StatusCode::kNotFound));
  SparseAt(temp.Path("a"), kFar + 7);
  EXPECT_THAT(SparseFile::Read(temp.Path("a"), 1 << 20),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("more than 1048576")));
}

}  // namespace
}  // namespace memplan
