#include "server/store/sparse_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/base/descriptor.h"
#include "server/store/file.h"

namespace memplan {
namespace {

// False with an errno of 0 where the file ends early.
bool ReadRange(int file, char* bytes, off_t begin, off_t end) {
  while (begin < end) {
    errno = 0;
    const ssize_t count =
        pread(file, bytes + begin, static_cast<size_t>(end - begin), begin);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    begin += count;
  }
  return true;
}

}  // namespace

SparseFile::SparseFile(size_t size) : size_(size) {
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) bytes_ = static_cast<char*>(memory);
}

SparseFile::~SparseFile() {
  if (bytes_ != nullptr) (void)munmap(bytes_, size_);
}

absl::StatusOr<SparseFile> SparseFile::Read(const std::string& path,
                                            int64_t most) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status = {};
  if (!file.is_open() || fstat(file.get(), &status) != 0) {
    return FileError(errno, "read", path);
  }
  if (status.st_size > most) {
    return absl::ResourceExhaustedError(absl::StrCat(
        path, " has ", status.st_size, " bytes, more than ", most));
  }
  SparseFile result(static_cast<size_t>(status.st_size));
  if (result.bytes_ == nullptr && status.st_size > 0) {
    return FileError(errno, "read", path);
  }
  for (off_t end = 0; end < status.st_size;) {
    off_t begin = lseek(file.get(), end, SEEK_DATA);
    if (begin < 0 && errno == ENXIO) break;  // a hole up to the end
    if (begin < 0) begin = end;              // no holes are told of here
    end = lseek(file.get(), begin, SEEK_HOLE);
    if (end <= begin) end = status.st_size;
    if (end > status.st_size) end = status.st_size;
    if (!ReadRange(file.get(), result.bytes_, begin, end)) {
      return FileError(errno == 0 ? EIO : errno, "read", path);
    }
  }
  return result;
}

}  // namespace memplan
