#include "client/model_file.h"

#include <openssl/evp.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/errors.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

using Digest = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

}  // namespace

ModelFile::ModelFile(std::string path, std::ifstream stream, int64_t size_bytes)
    : path_(std::move(path)),
      stream_(std::move(stream)),
      size_bytes_(size_bytes) {}

absl::StatusOr<ModelFile> ModelFile::Open(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status kind =
      std::filesystem::status(path, error);
  if (std::filesystem::exists(kind) &&
      !std::filesystem::is_regular_file(kind)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is no regular file; give the one that torch.jit.save wrote"));
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  }
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has no size: ", error.message()));
  }
  if (size == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is empty; give the file that torch.jit.save wrote"));
  }
  return ModelFile(path, std::move(stream), static_cast<int64_t>(size));
}

absl::StatusOr<std::string> ModelFile::Sha256(const std::stop_token& stop) {
  Digest digest(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  if (digest == nullptr ||
      EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr) != 1) {
    return absl::InternalError("OpenSSL offers no SHA-256");
  }
  std::string piece;
  for (;;) {
    if (stop.stop_requested()) return StoppedByCaller();
    MEMPLAN_RETURN_IF_ERROR(Read(piece));
    if (piece.empty()) break;
    EVP_DigestUpdate(digest.get(), piece.data(), piece.size());
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
  unsigned int length = 0;
  EVP_DigestFinal_ex(digest.get(), bytes.data(), &length);
  Seek(0);
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), length));
}

void ModelFile::Seek(int64_t offset) {
  stream_.clear();
  stream_.seekg(offset);
  read_bytes_ = offset;
}

absl::Status ModelFile::Read(std::string& piece) {
  const int64_t wanted = std::min(static_cast<int64_t>(kUploadChunkBytes),
                                  size_bytes_ - read_bytes_);
  piece.resize(static_cast<size_t>(wanted));
  stream_.read(piece.data(), wanted);
  if (stream_.gcount() != wanted) {
    return absl::AbortedError(absl::StrCat(
        path_,
        " became shorter while it was read; try again once it is whole"));
  }
  read_bytes_ += wanted;
  return absl::OkStatus();
}

uint32_t ChunkChecksum(const std::string& piece) {
  return static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(piece.data()),
            static_cast<uInt>(piece.size())));
}

}  // namespace memplan
