#include "server/store/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "server/base/reason.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::IsOkAndHolds;
using ::memplan::testing::StatusIs;
using ::memplan::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(FileErrorTest, SaysWhatWasDoneToWhatAndWhy) {
  EXPECT_THAT(FileError(EIO, "sync", "/x/y"),
              StatusIs(absl::StatusCode::kInternal,
                       "cannot sync /x/y: Input/output error"));
  EXPECT_THAT(FileError(EACCES, "open", "/x"),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("choose a folder")));
}

TEST(WriteAllTest, SaysThatTheDiskIsFull) {
  const Descriptor full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  const absl::Status status = WriteAll(full.get(), "text", "/dev/full");
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               AllOf(HasSubstr("cannot write /dev/full"),
                                     HasSubstr("free space there"))));
  EXPECT_EQ(ReasonOf(status), "STORE_FULL");
}

TEST(NamesInTest, GivesWhatIsThere) {
  TempDir temp;
  EXPECT_THAT(NamesIn(temp.path()), IsOkAndHolds(IsEmpty()));
  std::ofstream(temp.Path("a")) << "x";
  std::filesystem::create_directory(temp.Path("b"));
  EXPECT_THAT(NamesIn(temp.path()),
              IsOkAndHolds(UnorderedElementsAre("a", "b")));
  EXPECT_THAT(NamesIn(temp.Path("gone")),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST(RemoveAllTest, RemovesAFolderWithWhatIsInIt) {
  TempDir temp;
  std::filesystem::create_directory(temp.Path("b"));
  std::ofstream(temp.Path("b/c")) << "x";
  EXPECT_THAT(RemoveAll(temp.Path("b")), IsOk());
  EXPECT_FALSE(std::filesystem::exists(temp.Path("b")));
  EXPECT_THAT(RemoveAll(temp.Path("b")), IsOk());
}

}  // namespace
}  // namespace memplan
