#include "server/store/checked_upload.h"

#include <zlib.h>

#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "planner/base/status_macros.h"
#include "server/base/reason.h"
#include "server/store/part_file.h"
#include "server/store/sha256.h"
#include "server/store/torchscript_archive.h"

namespace memplan {
namespace {

absl::Status Invalid(absl::string_view message, std::string_view field) {
  return WithReason(absl::InvalidArgumentError(message), "INVALID_UPLOAD",
                    field);
}

// OK if `data` is a piece that may come after `received` of `total` bytes.
absl::Status CheckSize(std::string_view data, int64_t received, int64_t total) {
  const auto size = static_cast<int64_t>(data.size());
  if (size == 0 || size > kMaxChunkBytes) {
    return Invalid(
        absl::StrCat("data has ", size, " bytes; send pieces of 1 to ",
                     kMaxChunkBytes, " bytes"),
        "chunk.data");
  }
  if (size > total - received) {
    return Invalid(
        absl::StrCat("data reaches to byte ", received + size, ", past the ",
                     total, " that the header announced"),
        "chunk.data");
  }
  return absl::OkStatus();
}

absl::Status CheckChecksum(int64_t offset_bytes, std::string_view data,
                           uint32_t expected) {
  const auto actual = static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()));
  if (actual == expected) return absl::OkStatus();
  return WithReason(
      absl::DataLossError(absl::StrFormat(
          "the piece at offset %d has CRC-32 %08x, not %08x as sent: it was "
          "damaged on its way; upload the model again",
          offset_bytes, actual, expected)),
      "CHUNK_CHECKSUM_MISMATCH", "chunk.crc32");
}

absl::Status OutOfOrder(int64_t offset_bytes, int64_t received) {
  return Invalid(
      absl::StrCat("offset_bytes is ", offset_bytes, ", but ", received,
                   " bytes came before; send the pieces in order"),
      "chunk.offset_bytes");
}

absl::Status CheckWhole(int64_t received, int64_t total) {
  if (received == total) return absl::OkStatus();
  return WithReason(
      absl::DataLossError(absl::StrCat(
          "only ", received, " of the ", total,
          " bytes that the header announced came; upload the rest")),
      "UPLOAD_TRUNCATED", "header.total_bytes");
}

absl::Status CheckHash(const std::string& actual, const std::string& expected) {
  if (actual == expected) return absl::OkStatus();
  return WithReason(
      absl::DataLossError(absl::StrCat(
          "the bytes that came have SHA-256 ", actual, ", not ", expected,
          " as the header says: the file was changed or "
          "damaged; upload it again")),
      "MODEL_HASH_MISMATCH", "header.sha256");
}

// Of a model that is stored already: what comes is checked and thrown away.
class NeedlessUpload : public ModelUpload {
 public:
  NeedlessUpload(UploadHeader header, Model stored,
                 std::unique_ptr<ModelPin> pin)
      : header_(std::move(header)),
        stored_(std::move(stored)),
        pin_(std::move(pin)) {}

  bool already_stored() const override { return true; }
  int64_t committed_bytes() const override { return header_.total_bytes; }
  absl::StatusOr<bool> CatchUp() override { return false; }

  absl::Status Append(int64_t offset_bytes, std::string_view data,
                      uint32_t crc32) override {
    if (offset_bytes != received_) return OutOfOrder(offset_bytes, received_);
    MEMPLAN_RETURN_IF_ERROR(CheckSize(data, received_, header_.total_bytes));
    MEMPLAN_RETURN_IF_ERROR(CheckChecksum(offset_bytes, data, crc32));
    hash_.Update(data);
    received_ += static_cast<int64_t>(data.size());
    return absl::OkStatus();
  }

  absl::StatusOr<Model> Commit() override {
    MEMPLAN_RETURN_IF_ERROR(broken_);
    broken_ = CommittedBefore();
    if (received_ == 0) return stored_;
    MEMPLAN_RETURN_IF_ERROR(CheckWhole(received_, header_.total_bytes));
    MEMPLAN_RETURN_IF_ERROR(CheckHash(hash_.Finish(), header_.sha256));
    return stored_;
  }

  static absl::Status CommittedBefore() {
    return absl::FailedPreconditionError("this upload was committed before");
  }

 private:
  const UploadHeader header_;
  const Model stored_;
  const std::unique_ptr<ModelPin> pin_;
  Sha256 hash_;
  int64_t received_ = 0;
  absl::Status broken_;  // not OK once committed
};

// Of a model that is not stored, or not whole.
class PartUpload : public ModelUpload {
 public:
  PartUpload(PartClaim claim, std::string path)
      : claim_(std::move(claim)), path_(std::move(path)) {}

  bool already_stored() const override { return false; }
  int64_t committed_bytes() const override { return part().committed_bytes; }

  absl::StatusOr<bool> CatchUp() override {
    MEMPLAN_RETURN_IF_ERROR(broken_);
    if (committed_bytes() == 0) return false;
    MEMPLAN_RETURN_IF_ERROR(Open());
    return file_->CatchUp();
  }

  absl::Status Append(int64_t offset_bytes, std::string_view data,
                      uint32_t crc32) override {
    MEMPLAN_RETURN_IF_ERROR(broken_);
    const bool anew = !appended_ && offset_bytes == 0;
    if (!anew && offset_bytes != committed_bytes()) {
      return WrongPlace(offset_bytes);
    }
    MEMPLAN_RETURN_IF_ERROR(CheckSize(data, offset_bytes, part().size_bytes));
    MEMPLAN_RETURN_IF_ERROR(CheckChecksum(offset_bytes, data, crc32));
    broken_ = Write(anew, data);
    appended_ = true;
    return broken_;
  }

  absl::StatusOr<Model> Commit() override {
    MEMPLAN_RETURN_IF_ERROR(broken_);
    MEMPLAN_RETURN_IF_ERROR(CheckWhole(committed_bytes(), part().size_bytes));
    broken_ = NeedlessUpload::CommittedBefore();
    MEMPLAN_RETURN_IF_ERROR(Open());
    MEMPLAN_ASSIGN_OR_RETURN(const std::string hash, file_->Finish());
    absl::Status good = CheckHash(hash, part().sha256);
    if (good.ok()) good = CheckTorchScriptArchive(file_->descriptor());
    if (!good.ok()) {
      claim_.Discard();
      return good;
    }
    MEMPLAN_RETURN_IF_ERROR(file_->Seal());
    return claim_.Publish();
  }

 private:
  const Model& part() const { return claim_.part(); }

  absl::Status WrongPlace(int64_t offset_bytes) const {
    if (appended_) return OutOfOrder(offset_bytes, committed_bytes());
    return Invalid(
        absl::StrCat("offset_bytes is ", offset_bytes, ", but ",
                     committed_bytes(),
                     " bytes came before, and are kept; send on from there, or "
                     "from 0 to begin anew"),
        "chunk.offset_bytes");
  }

  absl::Status Open() {
    if (file_ != nullptr) return absl::OkStatus();
    MEMPLAN_ASSIGN_OR_RETURN(file_, PartFile::Open(path_, committed_bytes()));
    return absl::OkStatus();
  }

  absl::Status Write(bool anew, std::string_view data) {
    if (committed_bytes() == 0) MEMPLAN_RETURN_IF_ERROR(claim_.Record());
    MEMPLAN_RETURN_IF_ERROR(Open());
    if (anew) {
      claim_.SetCommitted(0);
      MEMPLAN_RETURN_IF_ERROR(file_->Restart());
    }
    MEMPLAN_RETURN_IF_ERROR(file_->Append(data));
    claim_.SetCommitted(file_->size_bytes());
    return absl::OkStatus();
  }

  PartClaim claim_;
  const std::string path_;
  std::unique_ptr<PartFile> file_;  // once it is needed
  bool appended_ = false;
  absl::Status broken_;  // not OK once no more may come
};

}  // namespace

absl::Status CheckUploadHeader(const UploadHeader& header) {
  if (!IsSha256(header.sha256)) {
    return Invalid(
        "sha256 must be the archive's SHA-256 as 64 lower-case hexadecimal "
        "digits",
        "header.sha256");
  }
  if (header.total_bytes < 1) {
    return Invalid(absl::StrCat("total_bytes is ", header.total_bytes,
                                "; it must be the archive's size, 1 or more"),
                   "header.total_bytes");
  }
  if (header.display_name.size() > kMaxDisplayNameBytes) {
    return Invalid(
        absl::StrCat("display_name has ", header.display_name.size(),
                     " bytes; at most ", kMaxDisplayNameBytes, " are kept"),
        "header.display_name");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ModelUpload>> CheckStoredAgain(
    UploadHeader header, Model stored, std::unique_ptr<ModelPin> pin) {
  if (stored.size_bytes != header.total_bytes) {
    return Invalid(absl::StrCat("total_bytes is ", header.total_bytes,
                                ", but the model with this SHA-256 has ",
                                stored.size_bytes, " bytes"),
                   "header.total_bytes");
  }
  return std::make_unique<NeedlessUpload>(std::move(header), std::move(stored),
                                          std::move(pin));
}

std::unique_ptr<ModelUpload> GoOnWithPart(PartClaim claim,
                                          const std::string& path) {
  return std::make_unique<PartUpload>(std::move(claim), path);
}

}  // namespace memplan
