#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "server/base/reason.h"
#include "server/store/checked_upload.h"
#include "server/store/model_store.h"
#include "tests/server/core/store_fixture.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::Crc32Of;
using ::memplan::testing::IsOk;
using ::memplan::testing::Sha256Of;
using ::memplan::testing::SmallArchive;
using ::memplan::testing::StatusIs;
using ::memplan::testing::StoreTest;
using ::memplan::testing::Upload;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class ModelUploadTest : public StoreTest {
 protected:
  ModelStore& models() { return *store().models; }
  std::unique_ptr<ModelUpload> Begin() { return Begin(archive_.size()); }
  std::unique_ptr<ModelUpload> Begin(size_t total_bytes) {
    auto upload = models().BeginUpload(
        sha256_, static_cast<int64_t>(total_bytes), "name");
    EXPECT_THAT(upload, IsOk());
    return *std::move(upload);
  }
  absl::Status Append(ModelUpload& upload, size_t offset, size_t size) {
    const std::string piece = archive_.substr(offset, size);
    return upload.Append(static_cast<int64_t>(offset), piece, Crc32Of(piece));
  }
  void ExpectNothingKept() {
    EXPECT_THAT(models().List(), IsEmpty());
    EXPECT_TRUE(std::filesystem::is_empty(temp_.Path("parts")));
    EXPECT_TRUE(std::filesystem::is_empty(temp_.Path("models")));
  }

  const std::string archive_ = SmallArchive("a");
  const std::string sha256_ = Sha256Of(archive_);
};

TEST_F(ModelUploadTest, TakesTheArchiveInPieces) {
  auto upload = Begin();
  EXPECT_FALSE(upload->already_stored());
  ASSERT_THAT(Append(*upload, 0, 10), IsOk());
  ASSERT_THAT(Append(*upload, 10, 1), IsOk());
  ASSERT_THAT(Append(*upload, 11, archive_.size()), IsOk());
  ASSERT_THAT(upload->Commit(), IsOk());
  EXPECT_THAT(models().List(), SizeIs(1));
  EXPECT_TRUE(std::filesystem::is_empty(temp_.Path("parts")));
}

TEST_F(ModelUploadTest, LeavesNothingIfNothingCame) {
  Begin().reset();
  EXPECT_THAT(Begin()->Append(0, "abc", Crc32Of("abd")),
              StatusIs(absl::StatusCode::kDataLoss));
  ExpectNothingKept();
}

TEST_F(ModelUploadTest, RefusesAMalformedHeader) {
  const auto begin = [this](std::string sha256, int64_t total_bytes,
                            std::string name) {
    return models()
        .BeginUpload(std::move(sha256), total_bytes, std::move(name))
        .status();
  };
  std::string upper = sha256_;
  upper[0] = 'A';
  for (const std::string& sha256 :
       {std::string(), upper, sha256_ + "0", std::string("../../etc/passwd")}) {
    const absl::Status status = begin(sha256, 10, "");
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                 StartsWith("sha256 ")));
    EXPECT_EQ(ReasonOf(status), "INVALID_UPLOAD");
    EXPECT_EQ(FieldOf(status), "header.sha256");
  }
  for (const int64_t total_bytes :
       {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    EXPECT_THAT(begin(sha256_, total_bytes, ""),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         StartsWith("total_bytes ")));
  }
  EXPECT_THAT(begin(sha256_, 10, std::string(129, 'n')),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("display_name ")));
  EXPECT_THAT(begin(sha256_, 10, std::string(128, 'n')), IsOk());
}

TEST_F(ModelUploadTest, RefusesMoreThanTheDiskHasBeforeWriting) {
  const absl::Status status =
      models().BeginUpload(sha256_, int64_t{1} << 60, "").status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               HasSubstr("free space there")));
  EXPECT_EQ(ReasonOf(status), "STORE_FULL");
  ExpectNothingKept();
}

TEST_F(ModelUploadTest, RefusesAPieceOutOfItsPlace) {
  auto upload = Begin();
  ASSERT_THAT(Append(*upload, 0, 10), IsOk());
  for (const size_t offset : {size_t{0}, size_t{9}, size_t{11}}) {
    const absl::Status status = Append(*upload, offset, 5);
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                 HasSubstr("but 10 bytes came before")));
    EXPECT_EQ(FieldOf(status), "chunk.offset_bytes");
  }
  EXPECT_THAT(upload->Append(-1, "x", Crc32Of("x")),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(ModelUploadTest, RefusesAnEmptyPieceAndOneAboveAMebibyte) {
  auto upload = Begin(3 << 20);
  EXPECT_THAT(upload->Append(0, "", 0),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("data has 0 bytes")));
  const std::string mebibyte(1 << 20, 'x');
  const std::string more = mebibyte + "x";
  EXPECT_THAT(upload->Append(0, more, Crc32Of(more)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("data has 1048577 bytes")));
  EXPECT_THAT(upload->Append(0, mebibyte, Crc32Of(mebibyte)), IsOk());
}

TEST_F(ModelUploadTest, RefusesMoreThanWasAnnounced) {
  auto upload = Begin(10);
  EXPECT_THAT(Append(*upload, 0, 11),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("to byte 11"), HasSubstr("the 10"))));
}

TEST_F(ModelUploadTest, RefusesADamagedPiece) {
  auto upload = Begin();
  const absl::Status status = upload->Append(0, "abc", Crc32Of("abd"));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss,
                               HasSubstr("has CRC-32 352441c2")));
  EXPECT_EQ(ReasonOf(status), "CHUNK_CHECKSUM_MISMATCH");
}

TEST_F(ModelUploadTest, RefusesATruncatedUpload) {
  auto upload = Begin();
  ASSERT_THAT(Append(*upload, 0, 10), IsOk());
  const absl::Status status = upload->Commit().status();
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("only 10 of ")));
  EXPECT_EQ(ReasonOf(status), "UPLOAD_TRUNCATED");
}

TEST_F(ModelUploadTest, RefusesOtherBytesThanTheHashSays) {
  const std::string other = SmallArchive("b");
  auto upload = Begin(other.size());
  ASSERT_THAT(upload->Append(0, other, Crc32Of(other)), IsOk());
  const absl::Status status = upload->Commit().status();
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr(sha256_), HasSubstr(Sha256Of(other)))));
  EXPECT_EQ(ReasonOf(status), "MODEL_HASH_MISMATCH");
  upload.reset();
  ExpectNothingKept();
}

TEST_F(ModelUploadTest, RefusesWhatIsNoTorchScript) {
  const absl::Status status =
      Upload(models(), "#!/bin/sh\necho this is no archive\n", "x").status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(ReasonOf(status), "NOT_A_TORCHSCRIPT_FILE");
  ExpectNothingKept();
}

TEST_F(ModelUploadTest, CommitsOnlyOnce) {
  auto upload = Begin();
  ASSERT_THAT(Append(*upload, 0, archive_.size()), IsOk());
  ASSERT_THAT(upload->Commit(), IsOk());
  EXPECT_THAT(upload->Commit(),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

class StoredModelUploadTest : public ModelUploadTest {
 protected:
  StoredModelUploadTest() {
    EXPECT_THAT(Upload(models(), archive_, "first"), IsOk());
  }
};

TEST_F(StoredModelUploadTest, IsCommittedWithoutPieces) {
  auto upload = Begin();
  EXPECT_TRUE(upload->already_stored());
  const auto model = upload->Commit();
  ASSERT_THAT(model, IsOk());
  EXPECT_EQ(model->display_name, "first");
}

TEST_F(StoredModelUploadTest, IsCheckedAllTheSameIfPiecesCome) {
  {
    auto whole = Begin();
    ASSERT_THAT(Append(*whole, 0, archive_.size()), IsOk());
    EXPECT_THAT(whole->Commit(), IsOk());
  }
  {
    auto truncated = Begin();
    ASSERT_THAT(Append(*truncated, 0, 3), IsOk());
    EXPECT_THAT(truncated->Commit(), StatusIs(absl::StatusCode::kDataLoss));
  }
  const std::string other = SmallArchive("b");
  auto wrong = Begin();
  ASSERT_THAT(wrong->Append(0, other, Crc32Of(other)), IsOk());
  EXPECT_THAT(wrong->Commit(), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(models().List(), SizeIs(1));
}

TEST_F(StoredModelUploadTest, WritesNothing) {
  auto upload = Begin();
  ASSERT_THAT(Append(*upload, 0, 10), IsOk());
  EXPECT_TRUE(std::filesystem::is_empty(temp_.Path("parts")));
}

TEST_F(StoredModelUploadTest, RefusesAnotherSize) {
  EXPECT_THAT(
      models().BeginUpload(sha256_, static_cast<int64_t>(archive_.size()) + 1,
                           ""),
      StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("total_bytes ")));
}

TEST_F(StoredModelUploadTest, KeepsTheModelFromBeingDeleted) {
  auto upload = Begin();
  EXPECT_THAT(models().Delete(sha256_),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  upload.reset();
  EXPECT_THAT(models().Delete(sha256_), IsOk());
}

}  // namespace
}  // namespace memplan
