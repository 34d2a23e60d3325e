#include "server/store/part_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "server/store/file.h"

namespace memplan {
namespace {

constexpr int64_t kPieceBytes = int64_t{1} << 18;
// What is hashed before others have their turn: some 20 ms.
constexpr int64_t kStretchBytes = int64_t{16} << 20;

}  // namespace

PartFile::PartFile(std::string path, Descriptor descriptor, int64_t size_bytes)
    : path_(std::move(path)),
      descriptor_(std::move(descriptor)),
      size_bytes_(size_bytes),
      hash_(std::make_unique<Sha256>()) {}

absl::StatusOr<std::unique_ptr<PartFile>> PartFile::Open(std::string path,
                                                         int64_t kept_bytes) {
  Descriptor descriptor(
      open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!descriptor.is_open()) return FileError(errno, "open", path);
  if (ftruncate(descriptor.get(), kept_bytes) != 0) {
    return FileError(errno, "shorten", path);
  }
  if (lseek(descriptor.get(), kept_bytes, SEEK_SET) < 0) {
    return FileError(errno, "go to the end of", path);
  }
  return std::unique_ptr<PartFile>(
      new PartFile(std::move(path), std::move(descriptor), kept_bytes));
}

absl::Status PartFile::Restart() {
  if (ftruncate(descriptor_.get(), 0) != 0 ||
      lseek(descriptor_.get(), 0, SEEK_SET) < 0) {
    return FileError(errno, "empty", path_);
  }
  size_bytes_ = 0;
  hashed_bytes_ = 0;
  hash_ = std::make_unique<Sha256>();
  return absl::OkStatus();
}

absl::StatusOr<bool> PartFile::CatchUp() {
  std::string piece;
  const int64_t end = std::min(size_bytes_, hashed_bytes_ + kStretchBytes);
  while (hashed_bytes_ < end) {
    piece.resize(
        static_cast<size_t>(std::min(kPieceBytes, end - hashed_bytes_)));
    const ssize_t count = pread(descriptor_.get(), piece.data(), piece.size(),
                                static_cast<off_t>(hashed_bytes_));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(errno, "read", path_);
    if (count == 0) {
      return absl::DataLossError(absl::StrCat(
          path_, " became shorter while it was read; upload the model again"));
    }
    hash_->Update({piece.data(), static_cast<size_t>(count)});
    hashed_bytes_ += count;
  }
  return hashed_bytes_ < size_bytes_;
}

absl::Status PartFile::CatchUpWholly() {
  for (bool more = true; more;) {
    MEMPLAN_ASSIGN_OR_RETURN(more, CatchUp());
  }
  return absl::OkStatus();
}

absl::Status PartFile::Append(std::string_view data) {
  MEMPLAN_RETURN_IF_ERROR(CatchUpWholly());
  if (absl::Status status = WriteAll(descriptor_.get(), data, path_);
      !status.ok()) {
    // Should this fail too, the kept bytes are known and cut when it is opened.
    (void)!ftruncate(descriptor_.get(), size_bytes_);
    return status;
  }
  hash_->Update(data);
  size_bytes_ += static_cast<int64_t>(data.size());
  hashed_bytes_ = size_bytes_;
  return absl::OkStatus();
}

absl::StatusOr<std::string> PartFile::Finish() {
  MEMPLAN_RETURN_IF_ERROR(CatchUpWholly());
  return hash_->Finish();
}

absl::Status PartFile::Seal() {
  if (fchmod(descriptor_.get(), S_IRUSR) != 0) {
    return FileError(errno, "protect", path_);
  }
  return SyncFile(descriptor_.get(), path_);
}

}  // namespace memplan
