#include "server/store/zip_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "server/store/file.h"

namespace memplan {
namespace {

constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint32_t kEntrySignature = 0x02014b50;
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kZip64EndSignature = 0x06064b50;
constexpr uint32_t kZip64LocatorSignature = 0x07064b50;

constexpr uint64_t kEndBytes = 22;
constexpr uint64_t kMaxCommentBytes = 0xffff;
constexpr uint64_t kZip64LocatorBytes = 20;
constexpr uint64_t kZip64EndBytes = 56;
constexpr uint64_t kEntryBytes = 46;

struct Place {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t entries = 0;
  uint64_t end = 0;  // where the records after the directory begin
};

// The unsigned number of `size` bytes at `offset`, lowest byte first. The
// caller has checked that they are there.
uint64_t Number(std::string_view bytes, uint64_t offset, int size) {
  uint64_t value = 0;
  for (int i = size - 1; i >= 0; --i) {
    value = value << 8 | static_cast<unsigned char>(
                             bytes[offset + static_cast<uint64_t>(i)]);
  }
  return value;
}

absl::Status NotAZip(std::string_view why) {
  return absl::InvalidArgumentError(std::string(why));
}

absl::StatusOr<uint64_t> FileSize(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) {
    return FileError(errno, "examine", "the uploaded file");
  }
  return static_cast<uint64_t>(status.st_size);
}

// Exactly `size` bytes from `offset`; the caller knows that the file has them.
absl::StatusOr<std::string> ReadAt(int descriptor, uint64_t offset,
                                   uint64_t size) {
  std::string bytes(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t count = pread(descriptor, bytes.data() + done, size - done,
                                static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(errno, "read", "the uploaded file");
    if (count == 0) return NotAZip("it became shorter while it was read");
    done += static_cast<size_t>(count);
  }
  return bytes;
}

// Where in `tail`, the end of the file, the end record stands: the last one
// whose comment reaches exactly to the file's end.
std::optional<uint64_t> FindEnd(std::string_view tail) {
  if (tail.size() < kEndBytes) return std::nullopt;
  for (uint64_t at = tail.size() - kEndBytes + 1; at-- > 0;) {
    if (Number(tail, at, 4) == kEndSignature &&
        at + kEndBytes + Number(tail, at + 20, 2) == tail.size()) {
      return at;
    }
  }
  return std::nullopt;
}

// The place as the zip64 end record says it, or nothing if there is no locator
// before the end record at `end`.
absl::StatusOr<std::optional<Place>> Zip64Place(int descriptor, uint64_t end) {
  if (end < kZip64LocatorBytes) return std::nullopt;
  const uint64_t locator_at = end - kZip64LocatorBytes;
  MEMPLAN_ASSIGN_OR_RETURN(const std::string locator,
                           ReadAt(descriptor, locator_at, kZip64LocatorBytes));
  if (Number(locator, 0, 4) != kZip64LocatorSignature) return std::nullopt;
  const uint64_t record_at = Number(locator, 8, 8);
  if (locator_at < kZip64EndBytes || record_at > locator_at - kZip64EndBytes) {
    return NotAZip("its zip64 locator points outside the file");
  }
  MEMPLAN_ASSIGN_OR_RETURN(const std::string record,
                           ReadAt(descriptor, record_at, kZip64EndBytes));
  if (Number(record, 0, 4) != kZip64EndSignature) {
    return NotAZip("its zip64 end record is not where the locator says");
  }
  Place place;
  place.entries = Number(record, 32, 8);
  place.size = Number(record, 40, 8);
  place.offset = Number(record, 48, 8);
  place.end = record_at;
  return place;
}

absl::StatusOr<Place> FindDirectory(int descriptor, uint64_t file_size) {
  const uint64_t tail_size = std::min(file_size, kEndBytes + kMaxCommentBytes);
  const uint64_t tail_at = file_size - tail_size;
  MEMPLAN_ASSIGN_OR_RETURN(const std::string tail,
                           ReadAt(descriptor, tail_at, tail_size));
  const std::optional<uint64_t> found = FindEnd(tail);
  if (!found) {
    return NotAZip("it has no end-of-central-directory record: it was cut off");
  }
  MEMPLAN_ASSIGN_OR_RETURN(const std::optional<Place> zip64,
                           Zip64Place(descriptor, tail_at + *found));
  if (zip64) return *zip64;
  Place place;
  place.entries = Number(tail, *found + 10, 2);
  place.size = Number(tail, *found + 12, 4);
  place.offset = Number(tail, *found + 16, 4);
  place.end = tail_at + *found;
  return place;
}

absl::StatusOr<std::vector<std::string>> Names(std::string_view directory,
                                               uint64_t entries) {
  // Each entry takes 46 bytes or more, so that the number is bounded.
  if (entries > directory.size() / kEntryBytes) {
    return NotAZip("its directory is too short for its number of entries");
  }
  std::vector<std::string> names;
  names.reserve(entries);
  for (uint64_t i = 0; i < entries; ++i) {
    if (directory.size() < kEntryBytes ||
        Number(directory, 0, 4) != kEntrySignature) {
      return NotAZip(absl::StrCat("entry ", i, " of its directory is damaged"));
    }
    const uint64_t name_size = Number(directory, 28, 2);
    const uint64_t entry_size = kEntryBytes + name_size +
                                Number(directory, 30, 2) +
                                Number(directory, 32, 2);
    if (entry_size > directory.size()) {
      return NotAZip(
          absl::StrCat("entry ", i, " of its directory passes its end"));
    }
    names.emplace_back(directory.substr(kEntryBytes, name_size));
    directory.remove_prefix(entry_size);
  }
  return names;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadZipNames(
    int descriptor, uint64_t max_directory_bytes) {
  MEMPLAN_ASSIGN_OR_RETURN(const uint64_t file_size, FileSize(descriptor));
  if (file_size < kEndBytes) return NotAZip("it is too short for a zip file");
  MEMPLAN_ASSIGN_OR_RETURN(const std::string start, ReadAt(descriptor, 0, 4));
  if (Number(start, 0, 4) != kLocalSignature) {
    return NotAZip("it does not begin as a zip file does (PK, 3, 4)");
  }
  MEMPLAN_ASSIGN_OR_RETURN(const Place place,
                           FindDirectory(descriptor, file_size));
  if (place.offset > place.end || place.size > place.end - place.offset) {
    return NotAZip("its directory lies outside the file");
  }
  if (place.size > max_directory_bytes) {
    return NotAZip(absl::StrCat("its directory of ", place.size,
                                " bytes is longer than the ",
                                max_directory_bytes, " that are read"));
  }
  MEMPLAN_ASSIGN_OR_RETURN(const std::string directory,
                           ReadAt(descriptor, place.offset, place.size));
  return Names(directory, place.entries);
}

}  // namespace memplan
