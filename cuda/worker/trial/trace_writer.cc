#include "cuda/worker/trial/trace_writer.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace memplan::gpu {

absl::StatusOr<std::unique_ptr<TraceWriter>> TraceWriter::Map(int descriptor) {
  struct stat file = {};
  if (fstat(descriptor, &file) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "descriptor ", descriptor, " is no trace file: ", strerror(errno)));
  }
  const size_t size = static_cast<size_t>(file.st_size);
  if (size < kTraceRecordsOffset + sizeof(TraceRecord)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the trace file has ", size, " bytes; it needs at least ",
                     kTraceRecordsOffset + sizeof(TraceRecord)));
  }
  void* memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) {
    return absl::InvalidArgumentError(
        absl::StrCat("mapping the trace file: ", strerror(errno)));
  }
  return std::unique_ptr<TraceWriter>(
      new TraceWriter(static_cast<std::byte*>(memory), size));
}

TraceWriter::TraceWriter(std::byte* memory, size_t size)
    : memory_(memory),
      size_(size),
      capacity_((size - kTraceRecordsOffset) / sizeof(TraceRecord)) {
  Restart();
}

void TraceWriter::Restart() {
  const std::lock_guard lock(mutex_);
  header_ = {};
  header_.magic = kTraceMagic;
  header_.version = kTraceVersion;
  ids_.clear();
  // Before any new record: a reader never sees two traces mixed.
  Publish();
}

TraceWriter::~TraceWriter() { munmap(memory_, size_); }

uint32_t TraceWriter::Intern(std::string_view name) {
  const std::lock_guard lock(mutex_);
  name = name.substr(0, kLongestName);
  if (const auto known = ids_.find(name); known != ids_.end()) {
    return known->second;
  }
  const uint32_t id = Add(name);
  if (id == kNoName) {
    ++header_.names_lost;
    Publish();
  }
  return id;
}

uint32_t TraceWriter::InternSignature(std::string_view text) {
  if (text.size() > kLongestSignature) return kNoName;
  const std::lock_guard lock(mutex_);
  const auto known = ids_.find(text);
  return known != ids_.end() ? known->second : Add(text);
}

uint32_t TraceWriter::Add(std::string_view name) {
  uint32_t id = kNoName;
  if (WriteName(name)) {
    id = header_.name_count++;
    Publish();
  }
  ids_.emplace(name, id);
  return id;
}

void TraceWriter::Append(const TraceRecord& record) {
  const std::lock_guard lock(mutex_);
  if (header_.record_count == capacity_) {
    ++header_.records_lost;
  } else {
    std::memcpy(memory_ + kTraceRecordsOffset +
                    header_.record_count * sizeof(TraceRecord),
                &record, sizeof(record));
    ++header_.record_count;
  }
  Publish();
}

bool TraceWriter::WriteName(std::string_view name) {
  const uint16_t length = static_cast<uint16_t>(name.size());
  if (header_.name_bytes + sizeof(length) + length > kTraceNamesBytes) {
    return false;
  }
  std::byte* end = memory_ + kTraceNamesOffset + header_.name_bytes;
  std::memcpy(end, &length, sizeof(length));
  std::memcpy(end + sizeof(length), name.data(), length);
  header_.name_bytes += sizeof(length) + length;
  return true;
}

void TraceWriter::Publish() { std::memcpy(memory_, &header_, sizeof(header_)); }

}  // namespace memplan::gpu
