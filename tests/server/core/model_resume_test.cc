// Uploads that break off and go on, in the same daemon and in the next.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>

#include "server/base/reason.h"
#include "server/store/model_store.h"
#include "tests/server/core/store_fixture.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::Crc32Of;
using ::memplan::testing::IsOk;
using ::memplan::testing::OpenedStore;
using ::memplan::testing::Sha256Of;
using ::memplan::testing::SmallArchive;
using ::memplan::testing::StatusIs;
using ::memplan::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Time = std::chrono::system_clock::time_point;

// An archive of some 40 kB.
std::string LargerArchive() {
  std::string name(40'000, 'n');
  return testing::ZipBuilder{
      .names = {"a/data.pkl", "a/constants.pkl", "a/" + name}}
      .Build();
}

class ModelResumeTest : public ::testing::Test {
 protected:
  ModelStore& models() { return *store_->models; }
  void Reopen() {
    store_.reset();
    store_ = Open();
  }
  std::unique_ptr<OpenedStore> Open() {
    return std::make_unique<OpenedStore>(temp_.path(), rules_,
                                         [this] { return now_; });
  }
  std::unique_ptr<ModelUpload> Begin(const std::string& archive) {
    auto upload = models().BeginUpload(
        Sha256Of(archive), static_cast<int64_t>(archive.size()), "name");
    EXPECT_THAT(upload, IsOk());
    return *std::move(upload);
  }
  absl::Status Append(ModelUpload& upload, size_t offset, size_t size) {
    const std::string piece = archive_.substr(offset, size);
    return upload.Append(static_cast<int64_t>(offset), piece, Crc32Of(piece));
  }
  // Uploads the first bytes and breaks off.
  void UploadPart(size_t size) {
    ASSERT_THAT(Append(*Begin(archive_), 0, size), IsOk());
  }

  TempDir temp_;
  Time now_ = std::chrono::system_clock::now();
  StoreRules rules_{};
  const std::string archive_ = LargerArchive();
  const std::string sha256_ = Sha256Of(archive_);
  std::unique_ptr<OpenedStore> store_ = Open();
};

TEST_F(ModelResumeTest, GoesOnWhereItBrokeOff) {
  UploadPart(1000);
  auto rest = Begin(archive_);
  EXPECT_EQ(rest->committed_bytes(), 1000);
  EXPECT_THAT(rest->CatchUp(), absl::StatusOr<bool>(false));
  ASSERT_THAT(Append(*rest, 1000, archive_.size()), IsOk());
  ASSERT_THAT(rest->Commit(), IsOk());
  EXPECT_TRUE(std::filesystem::is_empty(temp_.Path("parts")));
}

TEST_F(ModelResumeTest, TellsHowFarItCame) {
  UploadPart(1000);
  Reopen();
  const auto part = models().Get(sha256_);
  ASSERT_THAT(part, IsOk());
  EXPECT_EQ(part->state, ModelState::kUploading);
  EXPECT_EQ(part->committed_bytes, 1000);
  EXPECT_EQ(part->size_bytes, static_cast<int64_t>(archive_.size()));
  EXPECT_EQ(part->display_name, "name");
  EXPECT_THAT(models().List(), SizeIs(1));
  EXPECT_EQ(models().Use().part_bytes, 1000);
  EXPECT_THAT(models().Pin(sha256_),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("is not whole: 1000 of its")));
}

// Breaks an upload again and again at random places, at times with a new daemon
// or a piece that is damaged: what is kept is always a beginning of the archive,
// and the end is the archive.
TEST_F(ModelResumeTest, EndsRightHoweverItIsBroken) {
  std::mt19937 random(4);
  const auto below = [&random](size_t bound) { return random() % bound; };
  for (int round = 0; round < 20; ++round) {
    for (size_t kept = 0; kept < archive_.size();) {
      auto upload = Begin(archive_);
      ASSERT_EQ(upload->committed_bytes(), static_cast<int64_t>(kept));
      for (size_t pieces = 1 + below(3); pieces > 0 && kept < archive_.size();
           --pieces) {
        const size_t size = std::min(1 + below(9000), archive_.size() - kept);
        ASSERT_THAT(Append(*upload, kept, size), IsOk());
        kept += size;
      }
      if (below(3) == 0 && kept < archive_.size()) {
        EXPECT_THAT(
            upload->Append(static_cast<int64_t>(kept), "x", Crc32Of("y")),
            StatusIs(absl::StatusCode::kDataLoss));
      }
      upload.reset();
      if (below(2) == 0) Reopen();
    }
    ASSERT_THAT(Begin(archive_)->Commit(), IsOk());
    std::ifstream file(models().Path(sha256_), std::ios::binary);
    const std::string stored((std::istreambuf_iterator<char>(file)), {});
    ASSERT_EQ(Sha256Of(stored), sha256_);
    ASSERT_THAT(models().Delete(sha256_), IsOk());
  }
}

TEST_F(ModelResumeTest, BeginsAnewAtOffsetZeroAndNowhereElse) {
  UploadPart(1000);
  auto upload = Begin(archive_);
  EXPECT_THAT(Append(*upload, 999, 10),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("1000 bytes came before"),
                             HasSubstr("from 0 to begin anew"))));
  ASSERT_THAT(Append(*upload, 0, 10), IsOk());
  EXPECT_EQ(models().Get(sha256_)->committed_bytes, 10);
  ASSERT_THAT(Append(*upload, 10, archive_.size()), IsOk());
  EXPECT_THAT(upload->Commit(), IsOk());
}

TEST_F(ModelResumeTest, KeepsThePartFromAnotherSize) {
  rules_.part_ttl = std::chrono::hours(2);
  Reopen();
  UploadPart(1000);
  now_ += std::chrono::minutes(30);
  for (const int64_t other_size : {int64_t{500}, int64_t{1} << 50}) {
    const absl::Status refused =
        models().BeginUpload(sha256_, other_size, "").status();
    EXPECT_THAT(refused, StatusIs(absl::StatusCode::kFailedPrecondition,
                                  AllOf(HasSubstr("1000 bytes of it are kept"),
                                        HasSubstr("models delete " + sha256_),
                                        HasSubstr("wait 1h30m"))));
    EXPECT_EQ(ReasonOf(refused), "UPLOAD_SIZE_DIFFERS");
    EXPECT_EQ(FieldOf(refused), "header.total_bytes");
  }
  EXPECT_EQ(Begin(archive_)->committed_bytes(), 1000);
  // The way out for whoever has the true size.
  ASSERT_THAT(models().Delete(sha256_), IsOk());
  EXPECT_THAT(models().BeginUpload(sha256_, 500, ""), IsOk());
}

TEST_F(ModelResumeTest, HasOneUploadOfAnArchiveAtATime) {
  auto first = Begin(archive_);
  ASSERT_THAT(Append(*first, 0, 1000), IsOk());
  const absl::Status second =
      models()
          .BeginUpload(sha256_, static_cast<int64_t>(archive_.size()), "")
          .status();
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kAborted,
                               HasSubstr("has sent 1000 of ")));
  EXPECT_EQ(ReasonOf(second), "UPLOAD_IN_PROGRESS");
  EXPECT_EQ(ReasonOf(models().Delete(sha256_)), "MODEL_IN_USE");
  first.reset();
  EXPECT_EQ(Begin(archive_)->committed_bytes(), 1000);
}

TEST_F(ModelResumeTest, ForgetsAPartThatTurnsOutWrong) {
  UploadPart(archive_.size());
  std::fstream(temp_.Path("parts/" + sha256_),
               std::ios::in | std::ios::out | std::ios::binary)
      << "damaged";
  auto upload = Begin(archive_);
  const absl::Status status = upload->Commit().status();
  EXPECT_EQ(ReasonOf(status), "MODEL_HASH_MISMATCH");
  // Already free for the next, which the old one's end must not disturb.
  auto next = Begin(archive_);
  EXPECT_EQ(next->committed_bytes(), 0);
  upload.reset();
  EXPECT_EQ(ReasonOf(models().BeginUpload(sha256_, 1000, "").status()),
            "UPLOAD_IN_PROGRESS");
}

TEST_F(ModelResumeTest, SweepsPartsThatNobodyGoesOnWith) {
  rules_.part_ttl = std::chrono::hours(1);
  Reopen();
  UploadPart(1000);
  now_ += std::chrono::minutes(59);
  models().Sweep();
  EXPECT_THAT(models().List(), SizeIs(1));
  now_ += std::chrono::minutes(2);
  auto again = Begin(archive_);
  models().Sweep();
  EXPECT_THAT(models().List(), SizeIs(1)) << "one in progress is kept";
  again.reset();
  now_ += std::chrono::minutes(62);
  models().Sweep();
  EXPECT_THAT(models().List(), IsEmpty());
  EXPECT_TRUE(std::filesystem::is_empty(temp_.Path("parts")));
  Reopen();
  EXPECT_THAT(models().List(), IsEmpty());
}

TEST_F(ModelResumeTest, RemovesFilesThatAreNoParts) {
  UploadPart(1000);
  std::ofstream(temp_.Path("parts/upload.aBcDeF")) << "of an older memplan";
  Reopen();
  EXPECT_FALSE(std::filesystem::exists(temp_.Path("parts/upload.aBcDeF")));
  EXPECT_TRUE(std::filesystem::exists(temp_.Path("parts/" + sha256_)));
}

TEST_F(ModelResumeTest, CountsWhatRunningUploadsAnnounced) {
  rules_.max_bytes = static_cast<int64_t>(archive_.size()) + 10;
  Reopen();
  auto running = Begin(archive_);
  const std::string other = SmallArchive("b");
  const auto begin_other = [&] {
    return models().BeginUpload(Sha256Of(other),
                                static_cast<int64_t>(other.size()), "");
  };
  EXPECT_EQ(ReasonOf(begin_other().status()), "STORE_QUOTA_EXCEEDED");
  ASSERT_THAT(Append(*running, 0, 1000), IsOk());
  running.reset();  // now only the 1000 bytes count
  EXPECT_THAT(begin_other(), IsOk());
}

TEST_F(ModelResumeTest, EvictsWhatWasUsedLeastRecently) {
  rules_.max_models = 2;
  rules_.evict_models = true;
  Reopen();
  const auto upload = [this](const char* name) {
    now_ += std::chrono::seconds(1);
    return testing::Upload(models(), SmallArchive(name), name).status();
  };
  ASSERT_THAT(upload("a"), IsOk());
  ASSERT_THAT(upload("b"), IsOk());
  now_ += std::chrono::seconds(1);
  EXPECT_THAT(models().Pin(Sha256Of(SmallArchive("a"))), IsOk());
  Reopen();  // remembers the use
  ASSERT_THAT(upload("c"), IsOk());
  EXPECT_THAT(models().Get(Sha256Of(SmallArchive("b"))),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(models().Use().evictions, 1);
  const auto pin_a = models().Pin(Sha256Of(SmallArchive("a")));
  const auto pin_c = models().Pin(Sha256Of(SmallArchive("c")));
  EXPECT_EQ(ReasonOf(upload("d")), "STORE_QUOTA_EXCEEDED");
  EXPECT_THAT(models().List(), SizeIs(2));
}

}  // namespace
}  // namespace memplan
