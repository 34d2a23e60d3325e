#include "client/trace_file/trace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/trace_file/xz_decoder.h"
#include "planner/base/format.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

constexpr size_t kPieceBytes = 65536;
constexpr size_t kXzMagicBytes = 6;

// Fills `piece` but at the file's end; shorter only there.
absl::StatusOr<std::string_view> ReadPiece(
    int descriptor, std::array<char, kPieceBytes>& piece) {
  size_t filled = 0;
  while (filled < piece.size()) {
    const ssize_t count =
        read(descriptor, piece.data() + filled, piece.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return absl::ErrnoToStatus(errno, "cannot read it");
    if (count == 0) break;
    filled += static_cast<size_t>(count);
  }
  return std::string_view(piece.data(), filled);
}

absl::Status AppendPlain(std::string_view piece, Bytes limit,
                         std::string& text) {
  if (piece.size() > static_cast<size_t>(limit.count()) - text.size()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("it is larger than ", FormatBytes(limit)));
  }
  text.append(piece);
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadAll(int descriptor, Bytes limit) {
  auto buffer = std::make_unique<std::array<char, kPieceBytes>>();
  MEMPLAN_ASSIGN_OR_RETURN(std::string_view piece,
                           ReadPiece(descriptor, *buffer));
  const bool is_xz = IsXz(piece.substr(0, kXzMagicBytes));
  XzDecoder decoder(limit);
  std::string text;
  while (!piece.empty()) {
    MEMPLAN_RETURN_IF_ERROR(is_xz ? decoder.Decode(piece, text)
                                  : AppendPlain(piece, limit, text));
    MEMPLAN_ASSIGN_OR_RETURN(piece, ReadPiece(descriptor, *buffer));
  }
  if (is_xz) MEMPLAN_RETURN_IF_ERROR(decoder.Finish(text));
  return text;
}

absl::StatusOr<std::string> ReadFile(const std::string& path, Bytes limit) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, "cannot open it");
  const absl::Cleanup closer = [descriptor] { close(descriptor); };
  struct stat status = {};
  if (fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode)) {
    return absl::InvalidArgumentError("it is a folder");
  }
  return ReadAll(descriptor, limit);
}

}  // namespace

absl::StatusOr<std::string> ReadTraceFile(const std::string& path,
                                          Bytes limit) {
  const bool is_stdin = path == "-";
  absl::StatusOr<std::string> text =
      is_stdin ? ReadAll(STDIN_FILENO, limit) : ReadFile(path, limit);
  if (text.ok()) return text;
  return absl::Status(
      text.status().code(),
      absl::StrCat("trace ", is_stdin ? "from standard input" : path, ": ",
                   text.status().message()));
}

}  // namespace memplan
