#include "server/workers/worker_output.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace memplan {

WorkerOutput::WorkerOutput(Descriptor file) : file_(std::move(file)) {}

absl::StatusOr<WorkerOutput> WorkerOutput::Create() {
  Descriptor file(
      memfd_create("memplan-output", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.is_open() ||
      ftruncate(file.get(), static_cast<off_t>(kMaxOutputBytes)) != 0 ||
      fcntl(file.get(), F_ADD_SEALS,
            F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot make the memory of a worker's output: ",
                     std::generic_category().message(errno)));
  }
  return WorkerOutput(std::move(file));
}

std::string WorkerOutput::Tail(size_t size) const {
  // Worker and daemon share one position in the file, which the worker may have
  // moved anywhere.
  const off_t position = lseek(file_.get(), 0, SEEK_CUR);
  const size_t end = std::clamp<size_t>(
      static_cast<size_t>(std::max<off_t>(position, 0)), 0, kMaxOutputBytes);
  std::string text(std::min(size, end), '\0');
  const ssize_t count = pread(file_.get(), text.data(), text.size(),
                              static_cast<off_t>(end - text.size()));
  text.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  const size_t last = text.find_last_not_of(" \t\r\n");
  text.resize(last == std::string::npos ? 0 : last + 1);
  const size_t line = text.find('\n');
  if (end > size && line != std::string::npos) text.erase(0, line + 1);
  return text;
}

}  // namespace memplan
