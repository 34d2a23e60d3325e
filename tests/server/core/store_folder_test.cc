#include "server/store/store_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "server/base/reason.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;
using ::memplan::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(StoreFolderTest, MakesWhatIsMissingForTheUserAlone) {
  TempDir temp;
  const auto folder = StoreFolder::Open(temp.Path("a/b"));
  ASSERT_THAT(folder, IsOk());
  struct stat status {};
  ASSERT_EQ(stat(temp.Path("a/b").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  EXPECT_TRUE(std::filesystem::is_directory((*folder)->models_path()));
  EXPECT_TRUE(std::filesystem::is_directory((*folder)->parts_path()));
  EXPECT_TRUE(std::filesystem::is_directory((*folder)->traces_path()));
}

TEST(StoreFolderTest, RefusesASecondHolderAndNamesTheFirst) {
  TempDir temp;
  const auto first = StoreFolder::Open(temp.path());
  ASSERT_THAT(first, IsOk());
  const auto second = StoreFolder::Open(temp.path());
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kFailedPrecondition,
                               AllOf(HasSubstr(temp.path()),
                                     HasSubstr(absl::StrCat("pid ", getpid())),
                                     HasSubstr("choose another folder"))));
  EXPECT_EQ(ReasonOf(second.status()), "STORE_IN_USE");
}

TEST(StoreFolderTest, IsFreeAgainOnceLetGo) {
  TempDir temp;
  ASSERT_THAT(StoreFolder::Open(temp.path()), IsOk());
  EXPECT_THAT(StoreFolder::Open(temp.path()), IsOk());
}

TEST(StoreFolderTest, SaysSoIfAFileIsInItsPlace) {
  TempDir temp;
  std::ofstream(temp.Path("file")) << "x";
  const auto folder = StoreFolder::Open(temp.Path("file"));
  EXPECT_THAT(folder, StatusIs(absl::StatusCode::kInternal,
                               HasSubstr(temp.Path("file"))));
}

}  // namespace
}  // namespace memplan
