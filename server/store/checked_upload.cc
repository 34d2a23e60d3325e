#include "server/store/checked_upload.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "planner/base/format.h"
#include "planner/base/status_macros.h"
#include "server/base/descriptor.h"
#include "server/base/reason.h"
#include "server/store/file.h"
#include "server/store/sha256.h"
#include "server/store/stored_models.h"
#include "server/store/torchscript_archive.h"

namespace memplan {
namespace {

absl::Status Invalid(absl::string_view message, std::string_view field) {
  return WithReason(absl::InvalidArgumentError(message), "INVALID_UPLOAD",
                    field);
}

// A new file in the store's `parts`, removed with this object.
class PartFile {
 public:
  static absl::StatusOr<std::unique_ptr<PartFile>> Make(
      const std::string& parts) {
    std::string path = parts + "/upload.XXXXXX";
    Descriptor descriptor(mkostemp(path.data(), O_CLOEXEC));
    if (!descriptor.is_open()) return FileError(errno, "make a file in", parts);
    return std::unique_ptr<PartFile>(
        new PartFile(std::move(path), std::move(descriptor)));
  }
  ~PartFile() {
    if (!published_) (void)unlink(path_.c_str());
  }

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_.get(); }
  // The file has its final name now, or is gone.
  void set_published() { published_ = true; }

 private:
  PartFile(std::string path, Descriptor descriptor)
      : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

  const std::string path_;
  const Descriptor descriptor_;
  bool published_ = false;
};

class CheckedUpload : public ModelUpload {
 public:
  // `pin` is set if the model is stored, `part` if it is not.
  CheckedUpload(StoredModels& models, UploadHeader header,
                std::unique_ptr<ModelPin> pin, std::unique_ptr<PartFile> part)
      : models_(models),
        header_(std::move(header)),
        pin_(std::move(pin)),
        part_(std::move(part)) {}

  bool already_stored() const override { return pin_ != nullptr; }

  absl::Status Append(int64_t offset_bytes, std::string_view data,
                      uint32_t crc32) override {
    MEMPLAN_RETURN_IF_ERROR(broken_);
    MEMPLAN_RETURN_IF_ERROR(CheckPlace(offset_bytes, data));
    MEMPLAN_RETURN_IF_ERROR(CheckChecksum(offset_bytes, data, crc32));
    if (part_) {
      broken_ = WriteAll(part_->descriptor(), data, part_->path());
      MEMPLAN_RETURN_IF_ERROR(broken_);
    }
    hash_.Update(data);
    received_ += static_cast<int64_t>(data.size());
    return absl::OkStatus();
  }

  absl::StatusOr<Model> Commit() override {
    MEMPLAN_RETURN_IF_ERROR(broken_);
    broken_ = absl::FailedPreconditionError("this upload was committed before");
    if (already_stored() && received_ == 0) return models_.Get(header_.sha256);
    MEMPLAN_RETURN_IF_ERROR(CheckWhole());
    if (already_stored()) return models_.Get(header_.sha256);
    MEMPLAN_RETURN_IF_ERROR(CheckTorchScriptArchive(part_->descriptor()));
    if (fchmod(part_->descriptor(), 0400) != 0) {
      return FileError(errno, "protect", part_->path());
    }
    MEMPLAN_RETURN_IF_ERROR(SyncFile(part_->descriptor(), part_->path()));
    MEMPLAN_ASSIGN_OR_RETURN(
        Model model,
        models_.Publish(part_->path(),
                        Model{header_.sha256, header_.display_name, received_,
                              std::chrono::system_clock::now()}));
    part_->set_published();
    return model;
  }

 private:
  absl::Status CheckPlace(int64_t offset_bytes, std::string_view data) const {
    const auto size = static_cast<int64_t>(data.size());
    if (size == 0 || size > kMaxChunkBytes) {
      return Invalid(
          absl::StrCat("data has ", size, " bytes; send pieces of 1 to ",
                       kMaxChunkBytes, " bytes"),
          "chunk.data");
    }
    if (offset_bytes != received_) {
      return Invalid(
          absl::StrCat("offset_bytes is ", offset_bytes, ", but ", received_,
                       " bytes came before; send the pieces in order"),
          "chunk.offset_bytes");
    }
    if (size > header_.total_bytes - received_) {
      return Invalid(
          absl::StrCat("data reaches to byte ", received_ + size, ", past the ",
                       header_.total_bytes, " that the header announced"),
          "chunk.data");
    }
    return absl::OkStatus();
  }

  absl::Status CheckChecksum(int64_t offset_bytes, std::string_view data,
                             uint32_t expected) const {
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

  absl::Status CheckWhole() {
    if (received_ != header_.total_bytes) {
      return WithReason(
          absl::DataLossError(absl::StrCat(
              "only ", received_, " of the ", header_.total_bytes,
              " bytes that the header announced came; upload the model "
              "again")),
          "UPLOAD_TRUNCATED", "header.total_bytes");
    }
    const std::string actual = hash_.Finish();
    if (actual == header_.sha256) return absl::OkStatus();
    return WithReason(
        absl::DataLossError(absl::StrCat(
            "the bytes that came have SHA-256 ", actual, ", not ",
            header_.sha256,
            " as the header says: the file was changed or damaged; upload it "
            "again")),
        "MODEL_HASH_MISMATCH", "header.sha256");
  }

  StoredModels& models_;
  const UploadHeader header_;
  const std::unique_ptr<ModelPin> pin_;
  const std::unique_ptr<PartFile> part_;
  Sha256 hash_;
  int64_t received_ = 0;
  absl::Status broken_;  // not OK once no more may come
};

absl::Status CheckRoom(const std::string& parts, int64_t total_bytes) {
  struct statvfs disk {};
  if (statvfs(parts.c_str(), &disk) != 0) {
    return FileError(errno, "examine the disk of", parts);
  }
  const uint64_t free_bytes = uint64_t{disk.f_bavail} * disk.f_frsize;
  if (static_cast<uint64_t>(total_bytes) <= free_bytes) {
    return absl::OkStatus();
  }
  return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                        "the model has ", FormatBytes(Bytes(total_bytes)),
                        ", but the store's disk has only ",
                        FormatBytes(Bytes(static_cast<int64_t>(free_bytes))),
                        " free; free space there, or delete models")),
                    "STORE_FULL");
}

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

absl::StatusOr<std::unique_ptr<ModelUpload>> BeginCheckedUpload(
    StoredModels& models, const std::string& parts, UploadHeader header) {
  if (auto pin = models.Pin(header.sha256); pin.ok()) {
    MEMPLAN_ASSIGN_OR_RETURN(const Model stored, models.Get(header.sha256));
    if (stored.size_bytes != header.total_bytes) {
      return Invalid(absl::StrCat("total_bytes is ", header.total_bytes,
                                  ", but the model with this SHA-256 has ",
                                  stored.size_bytes, " bytes"),
                     "header.total_bytes");
    }
    return std::make_unique<CheckedUpload>(models, std::move(header),
                                           *std::move(pin), nullptr);
  }
  MEMPLAN_RETURN_IF_ERROR(CheckRoom(parts, header.total_bytes));
  MEMPLAN_ASSIGN_OR_RETURN(std::unique_ptr<PartFile> part,
                           PartFile::Make(parts));
  return std::make_unique<CheckedUpload>(models, std::move(header), nullptr,
                                         std::move(part));
}

}  // namespace memplan
