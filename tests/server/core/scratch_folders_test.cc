#include "server/workers/scratch_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;
using ::memplan::testing::TempDir;

TEST(ScratchFolderTest, IsForThisUserAloneAndGoesWithItsOwner) {
  const TempDir parent;
  std::string path;
  {
    const auto scratch = ScratchFolder::Make(parent.path());
    ASSERT_THAT(scratch, IsOk());
    path = scratch->path();
    struct stat status {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777u, 0700u);
    std::ofstream(path + "/left") << "by a model";
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ScratchFolderTest, GoesEvenWithFoldersThatNobodyMayLookInto) {
  const TempDir parent;
  std::optional<ScratchFolder> scratch = *ScratchFolder::Make(parent.path());
  const std::string closed = scratch->path() + "/a/b";
  std::filesystem::create_directories(closed + "/c");
  std::filesystem::permissions(closed, std::filesystem::perms::none);
  scratch.reset();
  EXPECT_TRUE(std::filesystem::is_empty(parent.path()));
}

TEST(ScratchFolderTest, DoesNotFollowLinks) {
  const TempDir parent;
  const TempDir elsewhere;
  std::ofstream(elsewhere.Path("kept")) << "";
  {
    const auto scratch = ScratchFolder::Make(parent.path());
    std::filesystem::create_symlink(elsewhere.path(), scratch->path() + "/out");
  }
  EXPECT_TRUE(std::filesystem::exists(elsewhere.Path("kept")));
}

TEST(ScratchFolderTest, TellsThatItCannotBeMade) {
  EXPECT_THAT(ScratchFolder::Make("/nowhere"),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       ::testing::HasSubstr("No such file or directory")));
}

TEST(EmptyScratchFoldersTest, RemovesWhatAnEarlierDaemonLeft) {
  const TempDir temp;
  const std::string parent = temp.Path("scratch");
  ASSERT_THAT(EmptyScratchFolders(parent), IsOk());
  std::filesystem::create_directories(parent + "/trial-1/deep");
  EXPECT_THAT(EmptyScratchFolders(parent), IsOk());
  EXPECT_TRUE(std::filesystem::is_empty(parent));
}

}  // namespace
}  // namespace memplan
