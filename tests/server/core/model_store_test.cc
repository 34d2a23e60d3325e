#include "server/store/model_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "server/base/reason.h"
#include "tests/server/core/store_fixture.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::Sha256Of;
using ::memplan::testing::SmallArchive;
using ::memplan::testing::StatusIs;
using ::memplan::testing::StoreTest;
using ::memplan::testing::Upload;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ModelStoreTest : public StoreTest {
 protected:
  ModelStore& models() { return *store().models; }
  std::string Sha(const std::string& name) {
    return Sha256Of(SmallArchive(name));
  }
};

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(ModelStoreTest, KeepsAModelUnderItsHash) {
  const auto before = std::chrono::system_clock::now();
  const auto model = Upload(models(), SmallArchive("a"), "first");
  ASSERT_THAT(model, IsOk());
  EXPECT_EQ(model->sha256, Sha("a"));
  EXPECT_EQ(model->display_name, "first");
  EXPECT_EQ(model->size_bytes, static_cast<int64_t>(SmallArchive("a").size()));
  EXPECT_GE(model->create_time, before);
  EXPECT_EQ(models().Path(Sha("a")), temp_.Path("models/" + Sha("a")));
  EXPECT_EQ(Contents(models().Path(Sha("a"))), SmallArchive("a"));
}

TEST_F(ModelStoreTest, StillHasItAfterReopening) {
  const auto model = Upload(models(), SmallArchive("a"), "first");
  ASSERT_THAT(model, IsOk());
  Reopen();
  const auto again = models().Get(Sha("a"));
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->display_name, "first");
  EXPECT_EQ(again->size_bytes, model->size_bytes);
  EXPECT_EQ(again->create_time, model->create_time);
}

TEST_F(ModelStoreTest, ListsTheNewestFirst) {
  ASSERT_THAT(Upload(models(), SmallArchive("a"), "first"), IsOk());
  ASSERT_THAT(Upload(models(), SmallArchive("b"), "second"), IsOk());
  EXPECT_THAT(models().List(),
              ElementsAre(Field(&Model::display_name, "second"),
                          Field(&Model::display_name, "first")));
}

TEST_F(ModelStoreTest, SaysThatAModelIsNotThere) {
  const std::string sha = Sha("a");
  for (const absl::Status& status :
       {models().Get(sha).status(), models().Pin(sha).status(),
        models().Delete(sha), models().Get("../store.lock").status()}) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound,
                                 HasSubstr("upload it first")));
    EXPECT_EQ(ReasonOf(status), "MODEL_NOT_FOUND");
  }
}

TEST_F(ModelStoreTest, DeletesFileAndRecord) {
  ASSERT_THAT(Upload(models(), SmallArchive("a"), ""), IsOk());
  EXPECT_THAT(models().Delete(Sha("a")), IsOk());
  EXPECT_FALSE(std::filesystem::exists(models().Path(Sha("a"))));
  Reopen();
  EXPECT_THAT(models().List(), IsEmpty());
}

TEST_F(ModelStoreTest, DoesNotDeleteAModelThatIsPinned) {
  ASSERT_THAT(Upload(models(), SmallArchive("a"), ""), IsOk());
  auto first = models().Pin(Sha("a"));
  auto second = models().Pin(Sha("a"));
  ASSERT_THAT(first, IsOk());
  const absl::Status status = models().Delete(Sha("a"));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(ReasonOf(status), "MODEL_IN_USE");
  first->reset();
  EXPECT_THAT(models().Delete(Sha("a")),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  second->reset();
  EXPECT_THAT(models().Delete(Sha("a")), IsOk());
}

TEST_F(ModelStoreTest, CanBeUploadedAgainAfterItsDeletion) {
  ASSERT_THAT(Upload(models(), SmallArchive("a"), "old"), IsOk());
  ASSERT_THAT(models().Delete(Sha("a")), IsOk());
  ASSERT_THAT(Upload(models(), SmallArchive("a"), "new"), IsOk());
  EXPECT_THAT(models().List(), ElementsAre(Field(&Model::display_name, "new")));
}

// What a daemon leaves that was killed between renaming a file and writing its
// record, or between deleting a record and its file.
TEST_F(ModelStoreTest, RemovesAFileWithoutARecord) {
  Close();
  const std::string path = temp_.Path("models/" + Sha("a"));
  std::ofstream(path) << SmallArchive("a");
  Open();
  EXPECT_THAT(models().List(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ModelStoreTest, ForgetsARecordWithoutAWholeFile) {
  ASSERT_THAT(Upload(models(), SmallArchive("a"), ""), IsOk());
  ASSERT_THAT(Upload(models(), SmallArchive("b"), ""), IsOk());
  ASSERT_THAT(Upload(models(), SmallArchive("c"), ""), IsOk());
  Close();
  std::filesystem::remove(temp_.Path("models/" + Sha("a")));
  std::filesystem::resize_file(temp_.Path("models/" + Sha("b")), 3);
  Open();
  EXPECT_THAT(models().List(), ElementsAre(Field(&Model::sha256, Sha("c"))));
  // Forgotten for good: the same bytes can come again.
  EXPECT_THAT(Upload(models(), SmallArchive("a"), ""), IsOk());
  EXPECT_THAT(models().List(), SizeIs(2));
}

}  // namespace
}  // namespace memplan
